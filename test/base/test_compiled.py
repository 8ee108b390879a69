"""Compiled arithmetic is compared with NumPy's bit for bit."""

import math

import numpy as np
import pytest

from gz_testauto.base.compiled import compiled, compiled_for


@compiled_for("f8[::1](f8[::1], f8[::1])")
def lengths(x, y):
    found = np.empty(len(x))
    for index in range(len(x)):
        found[index] = math.hypot(x[index], y[index])
    return found


@compiled_for("f8[::1](f8[::1], f8[::1], f8[::1])")
def products_and_sum(x, y, z):
    found = np.empty(len(x))
    for index in range(len(x)):
        found[index] = x[index] * y[index] + z[index] * math.sqrt(x[index]) - x[index] / y[index]
    return found


@pytest.fixture
def numbers():
    generator = np.random.default_rng(5)
    return generator.uniform(0.001, 30.0, (3, 20_000))


def test_compiled_lengths_equal_those_of_numpy_bit_for_bit(numbers):
    x, y, _ = numbers
    assert lengths(x, y).tobytes() == np.hypot(x, y).tobytes()


def test_operations_are_not_fused_or_reordered(numbers):
    x, y, z = numbers
    assert products_and_sum(x, y, z).tobytes() == (x * y + z * np.sqrt(x) - x / y).tobytes()


def test_function_with_a_signature_is_compiled_before_its_first_call():
    assert lengths.signatures
    assert not compiled(lambda value: value + 1).signatures


def test_compiled_functions_can_use_blas():
    product = compiled(lambda a, b: np.dot(a, b))
    assert product(np.eye(3), np.full((3, 3), 2.0)).tolist() == [[2.0] * 3] * 3
