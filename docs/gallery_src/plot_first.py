"""
A first join
============

A frame of facilities gets facts about countries.
"""

import tempfile

import pandas as pd

import dfjoin
