#!/usr/bin/env python3
"""What the published networks are and compute, for well_known_test.cpp.

    python tests/models/well_known.py              the table in the test
    python tests/models/well_known.py resnet50     the layers of one, to compare by eye

Wants torchvision 0.28 beside the pinned torch. Its operators are not needed, so
a wheel for another device does (`pip install --no-deps torchvision numpy pillow`).
For the networks of cells, PYTHONPATH must also have the folder cnn/ of a copy of
https://github.com/quark0/darts.
"""

import contextlib
import io
import math
import sys
import types

import torch
import torch.nn.functional as F

# This part of torchvision asks for its compiled operators when it is imported.
sys.modules.setdefault("torchvision._meta_registrations", types.ModuleType("_meta_registrations"))
from torchvision import models  # noqa: E402


def cells(genotype):
    """The network for CIFAR-10 of the DARTS authors."""
    import genotypes
    import model

    with contextlib.redirect_stdout(io.StringIO()):  # each cell prints its channels
        network = model.NetworkCIFAR(36, 10, 20, False, getattr(genotypes, genotype))
    network.drop_path_prob = 0.0
    return network


# Our name: (network, shape of the batch). Without a shape the layers alone are compared.
NETWORKS = {
    "alexnet": (lambda: models.alexnet(), (2, 3, 63, 63)),
    "vgg11": (lambda: models.vgg11(), ()),
    "vgg13": (lambda: models.vgg13(), ()),
    "vgg16": (lambda: models.vgg16(), (2, 3, 32, 32)),
    "vgg16_bn": (lambda: models.vgg16_bn(), (2, 3, 32, 32)),
    "vgg19": (lambda: models.vgg19(), ()),
    "resnet18": (lambda: models.resnet18(), (2, 3, 64, 64)),
    "resnet34": (lambda: models.resnet34(), (2, 3, 64, 64)),
    "resnet50": (lambda: models.resnet50(), (2, 3, 64, 64)),
    "resnet101": (lambda: models.resnet101(), ()),
    "resnet152": (lambda: models.resnet152(), ()),
    "densenet121": (lambda: models.densenet121(), (2, 3, 64, 64)),
    "densenet161": (lambda: models.densenet161(), (2, 3, 64, 64)),
    "densenet169": (lambda: models.densenet169(), ()),
    "densenet201": (lambda: models.densenet201(), ()),
    "inception_v3": (lambda: models.inception_v3(aux_logits=True, transform_input=False, init_weights=False),
                     (2, 3, 299, 299)),
    "nasnet": (lambda: cells("NASNet"), (2, 3, 16, 16)),
    "amoebanet": (lambda: cells("AmoebaNet"), (2, 3, 16, 16)),
    "darts": (lambda: cells("DARTS"), (2, 3, 16, 16)),
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
    logits, auxiliary = (out, None) if isinstance(out, torch.Tensor) else out
    loss = F.cross_entropy(logits, target)
    if auxiliary is not None:
        loss = loss + 0.4 * F.cross_entropy(auxiliary, target)
    loss.backward()
    squares = sum(parameter.grad.double().square().sum() for parameter in network.parameters())
    return loss.item(), math.sqrt(squares)


def main():
    if len(sys.argv) > 1:
        print(layers(NETWORKS[sys.argv[1]][0]()), end="")
        return
    for name, (make, shape) in NETWORKS.items():
        network = make().train()
        sizes = ", ".join(str(size) for size in shape)
        parameters = sum(parameter.numel() for parameter in network.parameters())
        row = f'"{name}", {parameters}, 0x{fnv1a(layers(network)):016x}, {{{sizes}}}'
        if shape:
            draw(network)
            loss, norm = step(network, shape)
            row += f", {loss:.6g}, {norm:.6g}"
        print(f"WellKnown{{{row}}},")


if __name__ == "__main__":
    main()
