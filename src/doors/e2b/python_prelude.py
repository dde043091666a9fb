# SPDX-License-Identifier: Apache-2.0
# Runs once in each new Python context of the E2B door: what its clients expect to be shown beyond
# what IPython shows. Leaves no name behind.


def _glovebox_prelude():
    import importlib.util
    import json
    import sys

    from IPython.core.getipython import get_ipython
    from IPython.display import display

    def plain(value):
        try:
            return json.loads(json.dumps(value, allow_nan=False))
        except (TypeError, ValueError, RecursionError):
            return None

    formatter = get_ipython().display_formatter.formatters["application/json"]
    formatter.for_type(list, plain)
    formatter.for_type(dict, plain)

    def extend_pillow(module):
        image = module.Image
        save = image.save

        def save_and_show(self, fp, format=None, **params):
            save(self, fp, format, **params)
            if type(fp) is str:
                display(self)

        image.save = save_and_show
        image.show = lambda self, *args, **kwargs: display(self)

    class PillowFinder:
        """Waits for Pillow's import: it is too slow to be done in vain."""

        @classmethod
        def find_spec(cls, name, path=None, target=None):
            if name != "PIL.Image":
                return None
            sys.meta_path.remove(cls)
            spec = importlib.util.find_spec(name)
            if spec is not None and spec.loader is not None:
                execute = spec.loader.exec_module

                def execute_and_extend(module):
                    execute(module)
                    extend_pillow(module)

                spec.loader.exec_module = execute_and_extend
            return spec

    if "PIL.Image" in sys.modules:
        extend_pillow(sys.modules["PIL.Image"])
    else:
        sys.meta_path.insert(0, PillowFinder)


_glovebox_prelude()
del _glovebox_prelude
