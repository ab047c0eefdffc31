"""The passes of numba and LLVM that kernels need, each run once.

Half of a first use is LLVM's work, and much of the rest are passes of numba for what no kernel has: closures, `with`,
functions that are compiled apart for constants, expressions of whole arrays. So:

- A kernel that only kernels call is kept as LLVM's code as it was made. It is optimised where it is compiled into a
  kernel that Python calls, as C's `static` functions are; numba would optimise it, make machine code of it that nobody
  runs, and optimise it again in each caller.
- A kernel without reference counts is optimised once. Numba does it three times, so that pairs of counts meet.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding
from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, CompileResult, PassManager
from numba.core.compiler_machinery import register_pass
from numba.core.lowering import Lower
from numba.core.typed_passes import (
    AnnotateTypes,
    IRLegalization,
    NativeLowering,
    NoPythonBackend,
    NopythonTypeInference,
    PreLowerStripPhis,
)
from numba.core.untyped_passes import (
    FixupArgs,
    GenericRewrites,
    IRProcessing,
    ReconstructSSA,
    RewriteSemanticConstants,
    TranslateByteCode,
)

_INNER = "inner"  # beside numba's "object" and "bitcode", the kinds of what it keeps of a library


class _LeanLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of a kernel without reference counts, or that of any kernel from a cache."""

    _bitcode: bytes | None = None

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        passes = self._codegen._module_pass_manager()
        if isinstance(passes, tuple):
            passes[0].run(self._final_module, passes[1])
        else:  # numba before 0.62
            passes.run(self._final_module)

    def _get_module_for_linking(self) -> Any:
        if self._shared_module is None and self._bitcode is not None:
            self._shared_module = llvmlite.binding.parse_bitcode(self._bitcode)
        return super()._get_module_for_linking()

    @classmethod
    def of_object(cls, codegen: Any, name: str, code: bytes, bitcode: bytes) -> _LeanLibrary:
        """Return a library with machine code; numba would parse the other code, too, which few callers need."""
        library = cls(codegen, name)
        library.enable_object_caching()
        library._set_compiled_object(code)
        library._bitcode = bitcode
        library._finalize_final_module()
        return library


class _InnerLibrary(_LeanLibrary):
    """The code of a kernel that only kernels call, which is never run by itself."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def serialize_using_object_code(self) -> tuple[str, str, bytes]:
        return self.name, _INNER, self._get_module_for_linking().as_bitcode()

    @classmethod
    def of_bitcode(cls, codegen: Any, name: str, bitcode: bytes) -> _InnerLibrary:
        """Return what `serialize_using_object_code` returned of."""
        library = cls(codegen, name)
        library._final_module = library._shared_module = llvmlite.binding.parse_bitcode(bitcode)
        library._finalize_final_module()
        return library


class _KernelLower(Lower):  # type: ignore[misc]
    def lower_assign(self, type_: Any, statement: Any) -> Any:
        """Lower an assignment; that of a kernel to a name writes no address, which no later process could use."""
        if isinstance(type_, types.Dispatcher):
            return self.context.get_dummy_value()
        return super().lower_assign(type_, statement)


@register_pass(mutates_CFG=True, analysis_only=False)
class _LeanLowering(NativeLowering):  # type: ignore[misc]
    _name = "lean_lowering"
    _library_class = _LeanLibrary
    lowering_class = _KernelLower

    def run_pass(self, state: Any) -> bool:
        state.library = self._library_class(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        done: bool = super().run_pass(state)
        return done


@register_pass(mutates_CFG=True, analysis_only=False)
class _InnerLowering(_LeanLowering):
    _name = "inner_lowering"
    _library_class = _InnerLibrary

    def run_pass(self, state: Any) -> bool:
        flags, state.flags = state.flags, state.flags.copy()
        state.flags.no_compile = True
        done = super().run_pass(state)
        state.flags = flags
        library = state.library
        library.finalize()
        # Numba finds the function by what it would call; here it is only a name.
        state.targetctx.insert_user_function(library, state.cr.fndesc, [library])
        state.reload_init.extend(getattr(library, "_reload_init", ()))  # numba before 0.62 has none
        state.cr = state.cr._replace(cfunc=library)
        return done


class KernelCompiler(CompilerBase):  # type: ignore[misc]
    """Compiles a kernel by the passes that kernels need."""

    def define_pipelines(self) -> list[Any]:
        """Return the one list of passes, by the flags of the kernel."""
        flags = self.state.flags
        lowering = NativeLowering if flags.nrt else _InnerLowering if flags.no_cpython_wrapper else _LeanLowering
        passes = PassManager("kernel")
        for one in (
            TranslateByteCode,
            FixupArgs,
            IRProcessing,
            RewriteSemanticConstants,
            GenericRewrites,
            ReconstructSSA,
            NopythonTypeInference,
            PreLowerStripPhis,
            IRLegalization,
            AnnotateTypes,
            lowering,
            NoPythonBackend,
        ):
            passes.add_pass(one, one.__name__)
        passes.finalize()
        return [passes]


def rebuild(context: Any, kept: tuple[Any, ...]) -> Any:
    """Return a compiled kernel of what a cache kept of it.

    Parameters
    ----------
    context : CPUContext
    kept : tuple
        What numba reduced it to.
    """
    (name, kind, code), description, environment, signature, objectmode, lifted, annotation, begin, environments = kept
    for function in begin:
        function()
    codegen = context.codegen()
    if kind == _INNER:
        library = entry = _InnerLibrary.of_bitcode(codegen, name, code)
    else:
        library = _LeanLibrary.of_object(codegen, name, *code)
        codegen._engine._defined_symbols.add(description.llvm_cpython_wrapper_name)
        entry = context.get_executable(library, description, environment)
        for one in environments:
            codegen.set_env(one.env_name, one)
    return CompileResult(
        target_context=context,
        typing_context=context.typing_context,
        library=library,
        environment=environment,
        entry_point=entry,
        fndesc=description,
        type_annotation=annotation,
        signature=signature,
        objectmode=objectmode,
        lifted=lifted,
        typing_error=None,
        call_helper=None,
        metadata=None,
        reload_init=begin,
        referenced_envs=environments,
    )
