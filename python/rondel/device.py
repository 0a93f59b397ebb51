"""OrtDevice: where the memory of a value is. Devices other than the CPU can be named, but hold nothing here."""

from __future__ import annotations

import enum

from .errors import CallerError, UnsupportedError


class OrtDeviceVendorId(enum.IntEnum):
    """Who made a device, as PCI numbers the vendors."""

    NONE = 0x0000
    AMD = 0x1002
    NVIDIA = 0x10DE
    ARM = 0x13B5
    MICROSOFT = 0x1414
    HUAWEI = 0x19E5
    QUALCOMM = 0x5143
    INTEL = 0x8086


#: The devices that onnxruntime names: their type, and their vendor if the name says it.
_TYPES = {"cpu": 0, "gpu": 1, "cuda": 1, "dml": 1, "webgpu": 1, "npu": 3, "cann": 3, "fpga": 2}
_VENDORS = {"cuda": OrtDeviceVendorId.NVIDIA, "dml": OrtDeviceVendorId.MICROSOFT, "cann": OrtDeviceVendorId.HUAWEI}


class OrtDevice:
    """A device: its type (0: the CPU), the kind of its memory, its number and vendor."""

    def __init__(self, device_type: int, memory_type: int, *numbers: int) -> None:
        """OrtDevice(type, memory, number), or OrtDevice(type, memory, vendor, number)."""
        if len(numbers) not in (1, 2):
            raise CallerError(f"OrtDevice has {len(numbers) + 2} arguments; expected a type, a memory, maybe a vendor, and a number")
        self._fields = (int(device_type), int(memory_type), int(numbers[0]) if len(numbers) == 2 else 0, int(numbers[-1]))

    @staticmethod
    def make(ort_device_name: str, device_id: int, vendor_id: int = -1) -> OrtDevice:
        """The device of a name ('cpu', 'cuda', ...) and a number. vendor_id: -1: as the name says."""
        if not isinstance(ort_device_name, str) or ort_device_name.lower() not in _TYPES:
            raise CallerError(f"Unsupported device type: {ort_device_name}; expected one of {', '.join(_TYPES)}")
        name = ort_device_name.lower()
        vendor = _VENDORS.get(name, 0) if vendor_id < 0 else vendor_id
        return OrtDevice(_TYPES[name], OrtDevice.default_memory(), vendor, device_id)

    def device_type(self) -> int:
        return self._fields[0]

    def device_mem_type(self) -> int:
        return self._fields[1]

    def device_vendor_id(self) -> int:
        return self._fields[2]

    def device_id(self) -> int:
        return self._fields[3]

    mem_type, vendor_id = device_mem_type, device_vendor_id

    @staticmethod
    def default_memory() -> int:
        return 0

    @staticmethod
    def cpu() -> int:
        """The type of the CPU. gpu(), cuda(), npu() and the others: the types of devices that are not here."""
        return _TYPES["cpu"]

    @staticmethod
    def gpu() -> int:
        return _TYPES["gpu"]

    cuda = dml = webgpu = gpu

    @staticmethod
    def npu() -> int:
        return _TYPES["npu"]

    cann = npu

    @staticmethod
    def fpga() -> int:
        return _TYPES["fpga"]

    def _get_c_device(self) -> OrtDevice:
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OrtDevice) and self._fields == other._fields

    def __hash__(self) -> int:
        return hash(self._fields)

    def __repr__(self) -> str:
        name = next(name for name, number in _TYPES.items() if number == self._fields[0])
        return f"OrtDevice('{name}', {self._fields[3]})"


def need_cpu(device: str | OrtDevice, what: str, device_id: int = 0, vendor_id: int = -1) -> None:
    """Raises UnsupportedError if the device is not the CPU. what: the call that names it."""
    made = device if isinstance(device, OrtDevice) else OrtDevice.make(device, device_id, vendor_id)
    if made.device_type() != OrtDevice.cpu():
        raise UnsupportedError(f"{what}: there is no {made} here, only the CPU; leave the device out")
