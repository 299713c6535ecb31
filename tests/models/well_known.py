#!/usr/bin/env python3
"""What torchvision's networks are and compute, for well_known_test.cpp.

    python tests/models/well_known.py              the table in the test
    python tests/models/well_known.py resnet50     the layers of one, to compare by eye

Wants torchvision 0.28 beside the pinned torch. Its operators are not needed, so
a wheel for another device does (`pip install --no-deps torchvision numpy pillow`).
"""

import math
import sys
import types

import torch
import torch.nn.functional as F

# This part of torchvision asks for its compiled operators when it is imported.
sys.modules.setdefault("torchvision._meta_registrations", types.ModuleType("_meta_registrations"))
from torchvision import models  # noqa: E402

NETWORKS = {  # our name: (network, shape of the batch)
    "alexnet": (lambda: models.alexnet(), (2, 3, 63, 63)),
    "vgg16": (lambda: models.vgg16(), (2, 3, 32, 32)),
    "vgg16_bn": (lambda: models.vgg16_bn(), (2, 3, 32, 32)),
    "resnet18": (lambda: models.resnet18(), (2, 3, 64, 64)),
    "resnet50": (lambda: models.resnet50(), (2, 3, 64, 64)),
    "densenet121": (lambda: models.densenet121(), (2, 3, 64, 64)),
    "inception_v3": (lambda: models.inception_v3(aux_logits=True, transform_input=False, init_weights=False),
                     (2, 3, 299, 299)),
    "r3d18": (lambda: models.video.r3d_18(), (2, 3, 8, 32, 32)),
}


def layers(network):
    lines = [f"{name} {list(tensor.shape)}\n" for name, tensor in network.state_dict().items()]
    return "".join(sorted(lines))


def fnv1a(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


@torch.no_grad()
def draw(network):
    """Parameters that show every mistake: no weight is 1 and no bias 0."""
    torch.manual_seed(1)
    for name, parameter in sorted(network.named_parameters()):
        if parameter.dim() > 1:
            parameter.normal_(0, math.sqrt(2 / parameter[0].numel()))
        else:
            parameter.normal_(1.0 if name.endswith("weight") else 0.0, 0.1)


def step(network, shape):
    """Loss and norm of the gradients of one step in training, dropout on."""
    torch.manual_seed(2)
    data, target = torch.randn(shape), torch.tensor([3, 7])
    out = network(data)
    if isinstance(out, torch.Tensor):
        loss = F.cross_entropy(out, target)
    else:
        loss = F.cross_entropy(out.logits, target) + 0.4 * F.cross_entropy(out.aux_logits, target)
    loss.backward()
    squares = sum(parameter.grad.double().square().sum() for parameter in network.parameters())
    return loss.item(), math.sqrt(squares)


def main():
    if len(sys.argv) > 1:
        print(layers(NETWORKS[sys.argv[1]][0]()), end="")
        return
    for name, (make, shape) in NETWORKS.items():
        network = make().train()
        draw(network)
        loss, norm = step(network, shape)
        sizes = ", ".join(str(size) for size in shape)
        print(f'WellKnown{{"{name}", {{{sizes}}}, 0x{fnv1a(layers(network)):016x}, {loss:.6g}, {norm:.6g}}},')


if __name__ == "__main__":
    main()
