package dev.tranche.nodeplugin.nvml;

import com.sun.jna.Function;
import com.sun.jna.NativeLibrary;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * NVML's functions by name. Handles are passed as addresses, and structs are read from memory by
 * offset. Each function is looked up separately: old drivers lack some, and new drivers drop
 * deprecated ones.
 */
final class NvmlFunctions {
  private final NativeLibrary library;
  // Empty for those that the library lacks.
  private final Map<String, Optional<Function>> found = new HashMap<>();

  NvmlFunctions(NativeLibrary library) {
    this.library = library;
  }

  private Optional<Function> find(String name) {
    return found.computeIfAbsent(name, this::lookUp);
  }

  private Optional<Function> lookUp(String name) {
    try {
      return Optional.of(library.getFunction(name));
    } catch (UnsatisfiedLinkError missing) {
      return Optional.empty();
    }
  }

  /** NVML's return code; {@link NvmlCode#FUNCTION_NOT_FOUND} where the library lacks it. */
  int call(String name, Object... arguments) {
    return find(name)
        .map(function -> function.invokeInt(arguments))
        .orElse(NvmlCode.FUNCTION_NOT_FOUND);
  }

  boolean succeeds(String name, Object... arguments) {
    return call(name, arguments) == NvmlCode.SUCCESS;
  }

  /**
   * Calls a function that must succeed.
   *
   * @param what says in words that it did not
   */
  void check(String what, String name, Object... arguments) {
    int result = call(name, arguments);
    check(
        result,
        result == NvmlCode.FUNCTION_NOT_FOUND ? what + ": the library lacks " + name : what);
  }

  /**
   * Calls a function that must succeed where the GPU and its driver have it.
   *
   * @return false if they lack it
   */
  boolean supports(String what, String name, Object... arguments) {
    int result = call(name, arguments);
    if (NvmlCode.unsupported(result)) {
      return false;
    }
    check(result, what);
    return true;
  }

  void check(int result, String what) {
    if (result != NvmlCode.SUCCESS) {
      throw failure(result, what, NvmlCode.advice(result));
    }
  }

  /** What to throw for a return code. */
  NvmlException failure(int result, String what, String advice) {
    String text =
        find("nvmlErrorString")
            .map(errorString -> errorString.invokeString(new Object[] {result}, false))
            .orElse("failure");
    return new NvmlException(result, what + ": " + text + " (NVML code " + result + ")" + advice);
  }
}
