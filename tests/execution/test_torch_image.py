import pytest

from amdkernel_mcp.config import load_settings
from amdkernel_mcp.errors import ToolchainError
from amdkernel_mcp.execution.docker.daemon import connect
from amdkernel_mcp.execution.docker.image import torch_image_id, torch_name, triton_image_id


@pytest.mark.sandbox
@pytest.mark.parametrize(("find", "flag"), [(torch_image_id, "--torch"), (triton_image_id, "--triton")])
def test_a_machine_without_pytorch_or_triton_names_the_command_that_installs_it(find, flag):
    daemon = connect(None)
    settings = load_settings({"debian_suite": "nosuch"}, {})
    with pytest.raises(ToolchainError) as caught:
        find(daemon, settings, host="gpu1")
    daemon.close()
    assert "not installed" in caught.value.message
    assert f"amdkernel setup {flag} --host gpu1" in str(caught.value.hint)


def test_another_suite_has_another_image():
    assert torch_name(load_settings({"debian_suite": "sid"}, {})) != torch_name(load_settings({}, {}))
