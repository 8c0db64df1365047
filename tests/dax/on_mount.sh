# Sourced by the guests that have a DAX mount, at /mnt/dax.

TICKSTACK_DAX_DIR=/mnt/dax run_gtest /dax/dax_test 'DaxMount.*:*DaxTier*'
