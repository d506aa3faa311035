"""What can go wrong in the workload; every class carries the exit code a command line answers with.

LLMError
├── ModelFileError          the model file is missing, cannot be fetched, or has the wrong hash
├── GGUFError               the file is no readable GGUF: truncated, absurd counts, unknown block format
├── UnsupportedModelError   a well-formed file of a model that this program does not run
├── ContextError            the prompt, or the text after it, does not fit the context
├── UsageError              options of a command that do not go together
└── DeviceError             no Vulkan driver, no adapter, limits too small, device lost

Bad input is exit code 2, a failing environment is exit code 1.
"""


class LLMError(Exception):
    """Base of all errors of the workload. The message says what is wrong, where, and what to do."""

    exit_code = 1


class ModelFileError(LLMError):
    """The model file is missing, cannot be fetched, or does not have the expected hash."""

    exit_code = 2


class GGUFError(LLMError):
    """The file is not a GGUF file that can be read."""

    exit_code = 2


class UnsupportedModelError(LLMError):
    """The file is well-formed, but of a model that this program does not run."""

    exit_code = 2


class ContextError(LLMError):
    """The prompt is empty, longer than the context, or the cache is full."""

    exit_code = 2


class UsageError(LLMError):
    """Options of a command that do not go together, or a value that is not known."""

    exit_code = 2


class DeviceError(LLMError):
    """No driver, no adapter, an adapter whose limits are too small, or a device that was lost."""
