import pytest

from amdkernel_mcp.config import load_settings
from amdkernel_mcp.errors import ToolchainError
from amdkernel_mcp.execution.docker.daemon import connect
from amdkernel_mcp.execution.docker.image import torch_image_id, torch_name


@pytest.mark.sandbox
def test_a_machine_without_pytorch_names_the_command_that_installs_it():
    daemon = connect(None)
    settings = load_settings({"debian_suite": "nosuch"}, {})
    with pytest.raises(ToolchainError) as caught:
        torch_image_id(daemon, settings, host="gpu1")
    daemon.close()
    assert "PyTorch is not installed" in caught.value.message
    assert "amdkernel setup --torch --host gpu1" in str(caught.value.hint)


def test_another_suite_has_another_image():
    assert torch_name(load_settings({"debian_suite": "sid"}, {})) != torch_name(load_settings({}, {}))
