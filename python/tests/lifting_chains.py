"""What the tests of lifted transforms ask of a chain."""

import pytest

from drapps.torch.lifting import chain_of
from drapps.torch.recognise import NotLifted

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def one_op(compose, transform, to_tensor):
    """What a transform becomes that is followed by nothing but the conversion."""
    (op,) = chain_of(compose([transform, to_tensor])).ops
    return {name: value for name, value in op.items() if name != "pass_order"}


def reject(transform, match):
    """A transform has no native form, and the reason matches."""
    with pytest.raises(NotLifted, match=match):
        chain_of(transform)
