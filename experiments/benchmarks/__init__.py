"""What `experiments/benchmark.py` runs; not part of the installed package.

measure    interleaved repeats, their spread, ratios and targets
programs   ours, as rows to be measured: steps, evaluation, generation, parts of a step
gemms      the matrix products of a step alone: the roofline
peers      RiLM in PyTorch and geoopt
suites     which rows and targets make up cpu, gpu, scaling and peers
report     a suite's record as tables
"""
