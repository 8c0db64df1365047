# Sourced by the guests that have a DAX mount, which is at /mnt/dax.

. /dax/persistent_rdb.sh
TICKSTACK_DAX_DIR=/mnt/dax run_gtest /dax/dax_test 'DaxMount.*:*DaxTier*' && persistent_rdb_survives_kill /mnt/dax
