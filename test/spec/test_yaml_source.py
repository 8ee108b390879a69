import time

import pytest

from gz_testauto.base.errors import SpecError
from gz_testauto.spec.yaml_source import (
    MOST_BYTES,
    AmbiguousValueError,
    YamlSource,
    read_yaml_text,
)

BOMB = "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi")
)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            "a: 1\n# caf\x01e\n",
            "x.yaml:2: the file is not YAML: it contains the control character '\\x01'",
        ),
        ("a\x00:\x00", "x.yaml:1: the file is not YAML: it contains the control character '\\x00'"),
        ("a: 1\n{}: 1\n", "x.yaml:2: a mapping or a list is used as a key"),
        ("b: {[a]: 1}\n", "x.yaml:1: a mapping or a list is used as a key"),
        ("size: {{ size }}\n", "x.yaml:1: a mapping or a list is used as a key"),
        ("a: !!timestamp x\n", "x.yaml:1: is not YAML: could not determine a constructor"),
        ("a: !!binary aGk=\n", "x.yaml:1: is not YAML: could not determine a constructor"),
        ("a:\n  b: !!int x\n", "x.yaml:2: is not YAML: 'x' cannot be read as int"),
        ("a: !!float x\n", "x.yaml:1: is not YAML: 'x' cannot be read as float"),
        ("a: 1\nb: !!bool x\n", "x.yaml:2: is not YAML"),
        ("a: " + "[" * 500 + "]" * 500, "x.yaml:1: is not YAML: is nested more than 50 levels"),
        ("- " * 500, "x.yaml:1: is not YAML: is nested more than 50 levels"),
        ("a: &a [*a]\n", "x.yaml:1: is not YAML: an alias is inside"),
        (BOMB, "x.yaml:6: is not YAML: has more than 100000 values"),
        ("a: " + "x" * MOST_BYTES, "x.yaml: has 1000003 characters; the limit is 1000000"),
        ('a: "\\ud800"\n', "x.yaml:1: is not YAML: '\\ud800' is not allowed in text"),
        ('a: "\\0"\n', "x.yaml:1: is not YAML: '\\x00' is not allowed in text"),
    ],
)
def test_unneeded_yaml_features_are_rejected_with_their_line(text, complaint):
    with pytest.raises(SpecError) as caught:
        YamlSource(text, "x.yaml")
    assert str(caught.value).startswith(complaint)


@pytest.mark.parametrize("text", ["2001-99-99", "2001-01-01", "2001-12-14t21:59:43.10-05:00"])
def test_dates_are_read_as_text(text):
    assert YamlSource(f"a: {text}", "x.yaml").data == {"a": text}


def test_yaml_aliases_without_exponential_expansion_are_read():
    source = YamlSource("a: &size {x: 1}\nb: *size\nc: {<<: *size, y: 2}\n", "x.yaml")
    assert source.data == {"a": {"x": 1}, "b": {"x": 1}, "c": {"x": 1, "y": 2}}


def test_chain_of_aliases_counts_as_nesting():
    chain = "a0: &a0 [1]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 60))
    with pytest.raises(SpecError, match="nested more than 50 levels"):
        YamlSource(chain, "x.yaml")


def test_merged_aliases_that_multiply_are_rejected():
    text = "a0: &a0 {x: 1}\n" + "".join(
        f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}\n" for n in range(1, 15)
    )
    began = time.process_time()
    with pytest.raises(SpecError, match="has more than 100000 values"):
        YamlSource(text, "x.yaml")
    assert time.process_time() - began < 5


def test_too_large_yaml_file_is_rejected(tmp_path):
    (tmp_path / "x.yaml").write_bytes(b"a" * (MOST_BYTES + 1))
    with pytest.raises(SpecError, match=r"x\.yaml: cannot be read: it is larger than 1 MB"):
        read_yaml_text(tmp_path / "x.yaml")


@pytest.mark.parametrize("content", ["a: é\n".encode("latin-1"), "a: 1\n".encode("utf-16")])
def test_file_that_is_not_utf8_is_reported(content, tmp_path):
    (tmp_path / "x.yaml").write_bytes(content)
    with pytest.raises(
        SpecError, match=r"x\.yaml:1: the file is not UTF-8; save the file as UTF-8"
    ):
        read_yaml_text(tmp_path / "x.yaml")


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        ("yes", "true", "text"),
        ("No", "false", "text"),
        ("on", "true", "text"),
        ("OFF", "false", "text"),
        ("012", "10", "12"),
        ("-012", "-10", "-12"),
        ("08", "text", "8"),
        ("0o14", "text", "12"),
        ("0b11", "3", "text"),
        ("1_000", "1000", "text"),
        ("0x1_F", "31", "text"),
        ("1_0.5", "10.5", "text"),
        ("1:30", "90", "text"),
        ("1:30.5", "90.5", "text"),
    ],
)
@pytest.mark.parametrize("place", ["a: 1\nb: {}\n", "a: 1\n{}: b\n", "# list\n- [x, {}]\n"])
def test_value_whose_meaning_depends_on_the_yaml_version_is_rejected(text, before, after, place):
    with pytest.raises(AmbiguousValueError) as caught:
        YamlSource(place.format(text), "x.yaml")
    assert str(caught.value).startswith(
        f"x.yaml:2: {text!r} is {before} in YAML 1.1 and {after} in YAML 1.2; write "
    )
    assert YamlSource(place.format(f"'{text}'"), "x.yaml").data  # the remedy is accepted


@pytest.mark.parametrize("text", ["0" + "7" * 5000, "1_" + "0" * 5000])
def test_long_ambiguous_number_is_shortened_in_the_message(text):
    with pytest.raises(AmbiguousValueError) as caught:
        YamlSource(f"a: {text}\n", "x.yaml")
    assert str(caught.value).startswith("x.yaml:1: ") and len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e3", 1000.0),
        ("1E-3", 0.001),
        ("-1.5e3", -1500.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("0", 0),
        ("-0", 0),
        ("00.5", 0.5),
        ("+12", 12),
        ("0x1F", 31),
        ("TRUE", True),
        ("False", False),
        ("~", None),
        ("NULL", None),
        ("y", "y"),
        ("n", "n"),
        ("=", "="),
        ("1.2.3", "1.2.3"),
        ("world_01", "world_01"),
        ("!!str 012", "012"),
        ("2024-01-01", "2024-01-01"),
    ],
)
def test_value_of_both_yaml_versions_is_read_as_in_version_1_2(text, value):
    read = YamlSource(f"a: {text}\n", "x.yaml").data["a"]
    assert read == value and type(read) is type(value)
