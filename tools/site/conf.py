"""Sphinx's configuration of the site. tools/site/build.py makes the folder of sources that it is given."""

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

project = "Rondel"
author = "the authors of Rondel"
release = re.search(r"project\(rondel VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
version = release

extensions = ["myst_parser", "sphinx.ext.autodoc", "breathe", "sphinx_copybutton", "docstrings"]
root_doc = "index"
html_theme = "furo"
html_title = f"Rondel {release}"
html_static_path = [str(HERE / "static")]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False

myst_heading_anchors = 4
# The annotation `type` is Python's, not one of the members of that name; each header declares the namespace again.
suppress_warnings = ["ref.python", "duplicate_declaration.cpp"]
myst_enable_extensions = ["colon_fence"]
pygments_style, pygments_dark_style = "tango", "monokai"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"

autodoc_mock_imports = ["torch"]
autodoc_default_options = {"members": True, "undoc-members": True, "member-order": "bysource"}
autodoc_typehints_format = "short"
autodoc_class_signature = "mixed"
python_maximum_signature_line_length = 88

breathe_projects = {"rondel": str(Path.cwd() / "build/site/doxygen/xml")}
breathe_default_project = "rondel"
breathe_default_members = ("members", "undoc-members")
cpp_id_attributes = ["RONDEL_API"]
cpp_maximum_signature_line_length = 88
