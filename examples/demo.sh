#!/usr/bin/env bash
# ResNet-18 on Fashion-MNIST: every step once as plain PyTorch and once in half the
# memory, from the same state, compared bit for bit.
set -euo pipefail
cd "$(dirname "$0")/.."
exec build/reforward train --model resnet18 --data fashion-mnist --batch 64 --image 64 \
  --budget 50% --steps "${STEPS:-30}" --optimizer sgd --seed 1 --compare
