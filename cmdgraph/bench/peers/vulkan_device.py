"""As much of Vulkan as the chain needs, through the package `vulkan`.

Recording calls the loader's functions without that package's wrappers, which would cost more than the calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cmdgraph.bench.peers import spirv
from cmdgraph.bench.peers.base import UnavailableError
from cmdgraph.bench.peers.elementwise import ELEMENTS

__all__ = ["VulkanDevice"]

BLOCK = 4 * ELEMENTS  # bytes, and a multiple of every minStorageBufferOffsetAlignment (at most 256)
BINDINGS = 3
API_1_1 = 1 << 22 | 1 << 12  # has SPIR-V 1.3


class VulkanDevice:
    """The first physical device with a queue for compute, one buffer of blocks, and the two kernels.

    `facts` names the adapter and where the buffer lies.

    Raises:
        UnavailableError: there is no such device.
        OSError: there is no Vulkan loader.
    """

    def __init__(self) -> None:
        import vulkan

        self._vk = vk = vulkan
        info = vk.VkApplicationInfo(pApplicationName="chain", apiVersion=API_1_1)
        try:
            self._instance = vk.vkCreateInstance(vk.VkInstanceCreateInfo(pApplicationInfo=info), None)
            found = vk.vkEnumeratePhysicalDevices(self._instance)
        except vk.VkError as error:
            raise UnavailableError(f"Vulkan finds no driver ({type(error).__name__})") from error
        self._physical, self._family = self._choose(found)
        queue = vk.VkDeviceQueueCreateInfo(queueFamilyIndex=self._family, queueCount=1, pQueuePriorities=[1.0])
        self._device = vk.vkCreateDevice(
            self._physical, vk.VkDeviceCreateInfo(queueCreateInfoCount=1, pQueueCreateInfos=[queue]), None
        )
        self._queue = vk.vkGetDeviceQueue(self._device, self._family, 0)
        flags = vk.VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT
        pool = vk.VkCommandPoolCreateInfo(flags=flags, queueFamilyIndex=self._family)
        self._pool = vk.vkCreateCommandPool(self._device, pool, None)
        self._make_pipelines()
        properties = vk.vkGetPhysicalDeviceProperties(self._physical)
        self.facts: dict[str, Any] = {"adapter": properties.deviceName, "backend": "Vulkan"}

    def blocks(self, count: int) -> np.ndarray:
        """`count` blocks of ELEMENTS floats that both the GPU and numpy see, f32 (count, ELEMENTS)."""
        vk = self._vk
        size = count * BLOCK
        usage = vk.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT
        create = vk.VkBufferCreateInfo(size=size, usage=usage, sharingMode=vk.VK_SHARING_MODE_EXCLUSIVE)
        self._buffer = vk.vkCreateBuffer(self._device, create, None)
        needs = vk.vkGetBufferMemoryRequirements(self._device, self._buffer)
        kind, self.facts["memory"] = self._memory_type(needs.memoryTypeBits)
        allocate = vk.VkMemoryAllocateInfo(allocationSize=needs.size, memoryTypeIndex=kind)
        self._memory = vk.vkAllocateMemory(self._device, allocate, None)
        vk.vkBindBufferMemory(self._device, self._buffer, self._memory, 0)
        mapped = vk.vkMapMemory(self._device, self._memory, 0, size, 0)
        found = np.frombuffer(mapped, np.float32).reshape(count, ELEMENTS)
        found[:] = 0
        return found

    def bind(self, steps: Sequence[tuple[str, Sequence[int]]]) -> list[tuple[Any, Any]]:
        """For each step (an operation and three blocks) its pipeline and a descriptor set of its own."""
        vk = self._vk
        kind = vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
        size = vk.VkDescriptorPoolSize(type=kind, descriptorCount=BINDINGS * len(steps))
        create = vk.VkDescriptorPoolCreateInfo(maxSets=len(steps), poolSizeCount=1, pPoolSizes=[size])
        allocate = vk.VkDescriptorSetAllocateInfo(
            descriptorPool=vk.vkCreateDescriptorPool(self._device, create, None),
            descriptorSetCount=len(steps),
            pSetLayouts=[self._set_layout] * len(steps),
        )
        sets = vk.vkAllocateDescriptorSets(self._device, allocate)
        bound = []
        for (op, blocks), descriptors in zip(steps, sets, strict=True):
            writes = [
                vk.VkWriteDescriptorSet(
                    dstSet=descriptors,
                    dstBinding=number,
                    descriptorCount=1,
                    descriptorType=kind,
                    pBufferInfo=[vk.VkDescriptorBufferInfo(buffer=self._buffer, offset=block * BLOCK, range=BLOCK)],
                )
                for number, block in enumerate(blocks)
            ]
            vk.vkUpdateDescriptorSets(self._device, len(writes), writes, 0, None)
            bound.append((self._pipelines[op], vk.ffi.new("VkDescriptorSet[1]", [descriptors])))
        return bound

    def command_buffer(self) -> Any:
        vk = self._vk
        allocate = vk.VkCommandBufferAllocateInfo(
            commandPool=self._pool, level=vk.VK_COMMAND_BUFFER_LEVEL_PRIMARY, commandBufferCount=1
        )
        found = vk.vkAllocateCommandBuffers(self._device, allocate)[0]
        return vk.ffi.cast("VkCommandBuffer", found)

    def record(self, steps: Sequence[tuple[Any, Any]], commands: Any, *, barriers: bool) -> None:
        """Records the steps; with barriers each sees what the one before wrote, and the first what ran earlier."""
        vk, lib = self._vk, self._vk.lib
        # Several submissions of it may be under way.
        begin = vk.VkCommandBufferBeginInfo(flags=vk.VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT)
        vk.vkBeginCommandBuffer(commands, begin)
        compute, stage, null = (
            vk.VK_PIPELINE_BIND_POINT_COMPUTE,
            vk.VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
            vk.ffi.NULL,
        )
        bind_pipeline, bind_sets = lib.vkCmdBindPipeline, lib.vkCmdBindDescriptorSets
        dispatch, wait, layout, barrier = lib.vkCmdDispatch, lib.vkCmdPipelineBarrier, self._layout, self._barrier
        for pipeline, descriptors in steps:
            if barriers:
                wait(commands, stage, stage, 0, 1, barrier, 0, null, 0, null)
            bind_pipeline(commands, compute, pipeline)
            bind_sets(commands, compute, layout, 0, 1, descriptors, 0, null)
            dispatch(commands, 1, 1, 1)
        vk.vkEndCommandBuffer(commands)

    def submitter(self, commands: Any) -> Callable[[], None]:
        """A function that submits the command buffer; everything that it passes is made here."""
        vk = self._vk
        buffers = vk.ffi.new("VkCommandBuffer[1]", [commands])
        submit = vk.ffi.new("VkSubmitInfo *")
        submit.sType, submit.commandBufferCount, submit.pCommandBuffers = (
            vk.VK_STRUCTURE_TYPE_SUBMIT_INFO,
            1,
            buffers,
        )
        call, queue, null = vk.lib.vkQueueSubmit, self._queue, vk.ffi.NULL

        def run(_keep: Any = buffers) -> None:
            status = call(queue, 1, submit, null)
            if status:
                raise RuntimeError(f"vkQueueSubmit gave {status}")

        return run

    def wait(self) -> None:
        self._vk.vkQueueWaitIdle(self._queue)

    def close(self) -> None:
        """Waits; the process ends soon after, and the driver frees what it made."""
        self._vk.vkDeviceWaitIdle(self._device)

    def _choose(self, devices: Sequence[Any]) -> tuple[Any, int]:
        for device in devices:
            for number, family in enumerate(self._vk.vkGetPhysicalDeviceQueueFamilyProperties(device)):
                if family.queueFlags & self._vk.VK_QUEUE_COMPUTE_BIT:
                    return device, number
        raise UnavailableError("Vulkan finds no device with a queue for compute")

    def _memory_type(self, allowed: int) -> tuple[int, str]:
        """Memory that numpy can write, on the device where it offers such."""
        vk = self._vk
        visible = vk.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | vk.VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
        properties = vk.vkGetPhysicalDeviceMemoryProperties(self._physical)
        for wanted, where in ((visible | vk.VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, "device"), (visible, "host")):
            for number in range(properties.memoryTypeCount):
                if allowed >> number & 1 and properties.memoryTypes[number].propertyFlags & wanted == wanted:
                    return number, where
        raise UnavailableError("Vulkan offers no memory that the host can see")

    def _make_pipelines(self) -> None:
        vk, device = self._vk, self._device
        self._barrier = vk.ffi.new("VkMemoryBarrier *")
        self._barrier.sType = vk.VK_STRUCTURE_TYPE_MEMORY_BARRIER
        self._barrier.srcAccessMask = vk.VK_ACCESS_SHADER_WRITE_BIT
        self._barrier.dstAccessMask = vk.VK_ACCESS_SHADER_READ_BIT | vk.VK_ACCESS_SHADER_WRITE_BIT
        bindings = [
            vk.VkDescriptorSetLayoutBinding(
                binding=number,
                descriptorType=vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                descriptorCount=1,
                stageFlags=vk.VK_SHADER_STAGE_COMPUTE_BIT,
            )
            for number in range(BINDINGS)
        ]
        create = vk.VkDescriptorSetLayoutCreateInfo(bindingCount=BINDINGS, pBindings=bindings)
        self._set_layout = vk.vkCreateDescriptorSetLayout(device, create, None)
        layout = vk.VkPipelineLayoutCreateInfo(setLayoutCount=1, pSetLayouts=[self._set_layout])
        self._layout = vk.vkCreatePipelineLayout(device, layout, None)
        self._pipelines = {op: self._pipeline(spirv.kernel(op)) for op in ("add", "mul")}

    def _pipeline(self, code: bytes) -> Any:
        vk = self._vk
        create = vk.VkShaderModuleCreateInfo(codeSize=len(code), pCode=code)
        stage = vk.VkPipelineShaderStageCreateInfo(
            stage=vk.VK_SHADER_STAGE_COMPUTE_BIT,
            module=vk.vkCreateShaderModule(self._device, create, None),
            pName="main",
        )
        compute = vk.VkComputePipelineCreateInfo(stage=stage, layout=self._layout)
        return vk.vkCreateComputePipelines(self._device, vk.VK_NULL_HANDLE, 1, [compute], None)[0]
