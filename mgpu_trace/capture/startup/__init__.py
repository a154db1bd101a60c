"""The folder that goes on PYTHONPATH under ``mgpu-trace capture``: see sitecustomize.py in it."""
