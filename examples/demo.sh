#!/usr/bin/env bash
# DenseNet-121 on Fashion-MNIST: every step once as plain PyTorch and once in half the
# memory, from the same state, compared bit for bit. (ResNet-18 cannot be halved: backward
# through its first batch norm alone needs 60 % of what its activations take.)
set -euo pipefail
cd "$(dirname "$0")/.."
exec build/reforward train --model densenet121 --data fashion-mnist --batch 32 --image 64 \
  --budget 50% --steps "${STEPS:-30}" --optimizer sgd --seed 1 --compare
