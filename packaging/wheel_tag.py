"""Build hook: a wheel with compiled code is for one Python and one kind of machine."""

from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class WheelTag(BuildHookInterface):
    """Says in the name of the wheel for what it is, if it has compiled code."""

    def initialize(self, version, build_data):
        """Set the tag before the build."""
        if version == "standard" and Path(self.root, "src", "mist", "ready_code").is_dir():
            build_data["pure_python"] = False
            build_data["infer_tag"] = True
