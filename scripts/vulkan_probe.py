"""Says in one line which Vulkan (or Metal) driver wgpu finds.

Exit status: 0 good (a GPU, or Mesa 25 or newer), 3 usable but slow (an older software driver), 4 none.
"""

from __future__ import annotations

import re
import sys

import wgpu

# Compute on lavapipe became 10 to 15 times faster between Mesa 22 and 25, and Dawn refuses the older one.
RECENT_MESA = 25


def main() -> int:
    """Prints the verdict and gives it as exit status."""
    infos = [adapter.info for adapter in wgpu.gpu.enumerate_adapters_sync()]
    infos = [info for info in infos if info["backend_type"] in ("Vulkan", "Metal", "D3D12")]
    for info in infos:
        if info["adapter_type"] != "CPU":
            print(f"{info['device']} ({info['backend_type']})")
            return 0
    for info in infos:
        mesa = re.search(r"Mesa (\d+)", info["description"])
        if mesa is None or int(mesa[1]) >= RECENT_MESA:
            print(f"{info['device']} ({info['description']})")
            return 0
        print(f"the software Vulkan driver is old (Mesa {mesa[1]}): slow here, and refused by Dawn")
        return 3
    print("no Vulkan driver")
    return 4


if __name__ == "__main__":
    sys.exit(main())
