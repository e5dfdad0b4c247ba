"""Settings: who wins, and what is said about a wrong one."""

from pathlib import Path

import pytest

from amdkernel_mcp.config import Settings, load_settings
from amdkernel_mcp.errors import SettingsError


def _file(tmp_path: Path, text: str) -> dict[str, str]:
    file = tmp_path / "config.toml"
    file.write_text(text)
    return {"AMDKERNEL_CONFIG": str(file), "HOME": str(tmp_path)}


def test_a_flag_beats_the_environment_the_file_and_the_default(tmp_path: Path) -> None:
    environ = _file(tmp_path, 'debian_suite = "from-file"\nimage = "from-file"\nmax_workers = 3\n')
    environ |= {"AMDKERNEL_DEBIAN_SUITE": "from-environment", "AMDKERNEL_IMAGE": "from-environment"}
    settings = load_settings({"image": "from-flag", "docker_host": None}, environ)
    assert (settings.image, settings.debian_suite, settings.max_workers, settings.docker_host) == (
        "from-flag",
        "from-environment",
        3,
        None,
    )
    assert settings.default_target == "emulator:gfx942"


def test_folders_follow_xdg(tmp_path: Path) -> None:
    assert load_settings(environ={"HOME": str(tmp_path)}).data_dir == tmp_path / ".local/share/amdkernel"
    environ = {"HOME": str(tmp_path), "XDG_CACHE_HOME": "/xdg"}
    assert load_settings(environ=environ).cache_dir == Path("/xdg/amdkernel")


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ('image = "x"\n\ndebian_sute = "forky"\n', 3, "did you mean 'debian_suite'"),
        ("# nothing\nmax_workers = 0\n", 2, "greater than or equal to 1"),
        ('\nisolation = "chroot"\n', 2, "'auto', 'docker' or 'none'"),
        ('image = "x\n', 1, "not TOML: "),
        ('\n[hosts]\nemulator = "ssh://me@gpu1"\n', 3, "hosts.emulator: 'emulator' cannot be the name of a host"),
        ('[hosts]\ngpu0 = "ssh://gpu0"\ngpu1 = "gpu1"\n', 3, "hosts.gpu1: 'gpu1' is not a Docker URL"),
        ('[headers]\n"../x" = "/opt"\n', 2, "'../x' cannot be the name of a header library"),
        ("[hosts]\n\ngpu2 = 7\n", 3, "hosts.gpu2: Input should be a valid string"),
    ],
)
def test_a_mistake_in_the_file_is_told_with_file_and_line(tmp_path: Path, text: str, line: int, says: str) -> None:
    environ = _file(tmp_path, text)
    with pytest.raises(SettingsError) as caught:
        load_settings(environ=environ)
    assert says in caught.value.message
    assert (caught.value.file, caught.value.line) == (environ["AMDKERNEL_CONFIG"], line)


def test_a_mistake_in_the_environment_names_the_variable() -> None:
    with pytest.raises(SettingsError, match=r"AMDKERNEL_IMAG .*did you mean 'image'"):
        load_settings(environ={"AMDKERNEL_IMAG": "x"})
    with pytest.raises(SettingsError, match="AMDKERNEL_MAX_WORKERS"):
        load_settings(environ={"AMDKERNEL_MAX_WORKERS": "many"})


def test_a_settings_file_that_was_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        load_settings(environ={"AMDKERNEL_CONFIG": str(tmp_path / "none.toml")})


def test_variables_that_others_read_are_no_settings() -> None:
    load_settings(
        environ={
            "AMDKERNEL_EMULATOR_OPTIONS": "pcs=1",
            "AMDKERNEL_LIB": "/x",
            "AMDKERNEL_DEBUG": "1",
            "AMDKERNEL_IMAGE": "",
        }
    )


def test_every_setting_is_described_and_tokens_are_not_printed() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description and "dir" not in name] == []
    settings = load_settings({"tokens": {"s3cret": "ada"}}, {})
    assert "s3cret" not in repr(settings)
