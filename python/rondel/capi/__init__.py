"""onnxruntime's inner modules by their names, for code that imports from them. All they have is in `rondel`."""
