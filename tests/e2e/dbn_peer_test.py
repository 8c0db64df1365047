#!/usr/bin/env python3
"""The independent decoder of DBN reads each field as Databento's own decoder does: real files, and random records of all
types and versions. run_dbn_peer_test.sh installs databento-dbn for it."""

import enum
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import dbn_messages, stack  # noqa: E402

try:
    import databento_dbn
except ImportError:
    sys.exit(77)

# The names of fields there, where they differ from ours.
NAMES = {
    "publisher": "publisher_id", "instrument": "instrument_id", "order": "order_id", "channel": "channel_id",
    "delta": "ts_in_delta",
    (0x12, "event"): "trading_event", (0x12, "trading"): "is_trading", (0x12, "quoting"): "is_quoting",
    (0x12, "short_sale"): "is_short_sell_restricted",
    (0x14, "reference"): "ref_price", (0x14, "continuous"): "cont_book_clr_price", (0x14, "cross"): "auct_interest_clr_price",
    (0x14, "short_sale"): "ssr_filling_price", (0x14, "match"): "ind_match_price", (0x14, "upper"): "upper_collar",
    (0x14, "lower"): "lower_collar", (0x14, "paired"): "paired_qty", (0x14, "total"): "total_imbalance_qty",
    (0x14, "market"): "market_imbalance_qty", (0x14, "unpaired"): "unpaired_qty", (0x14, "type"): "auction_type",
    (0x14, "status"): "auction_status", (0x14, "freeze"): "freeze_status", (0x14, "extensions"): "num_extensions",
    (0x14, "significant"): "significant_imbalance",
    (0x15, "text"): "err", (0x15, "last"): "is_last", (0x17, "text"): "msg",
    (0x16, "asked"): "stype_in_symbol", (0x16, "given"): "stype_out_symbol", (0x16, "start"): "start_ts", (0x16, "end"): "end_ts",
    (0x18, "reference"): "ts_ref", (0x18, "type"): "stat_type", (0x18, "update"): "update_action", (0x18, "flags"): "stat_flags",
    "tick": "min_price_increment", "display": "display_factor", "variation": "max_price_variation", "unit": "unit_of_measure_qty",
    "increment": "min_price_increment_amount", "ratio": "price_ratio", "strike": "strike_price",
    "raw_id": "raw_instrument_id", "attributes": "inst_attrib_value", "implied": "market_depth_implied",
    (0x13, "depth"): "market_depth", (0x13, "high"): "high_limit_price", (0x13, "low"): "low_limit_price",
    (0x13, "reference"): "trading_reference_price", "segment": "market_segment_id", "max_volume": "max_trade_vol",
    "lot": "min_lot_size", "lot_block": "min_lot_size_block", "lot_round": "min_lot_size_round_lot", "min_volume": "min_trade_vol",
    "multiplier": "contract_multiplier", "decay": "decay_quantity", "original": "original_contract_size",
    "leg_id": "leg_instrument_id", "leg_a": "leg_ratio_price_numerator", "leg_b": "leg_ratio_price_denominator",
    "leg_c": "leg_ratio_qty_numerator", "leg_d": "leg_ratio_qty_denominator", "leg_underlying": "leg_underlying_id",
    "reference_date": "trading_reference_date", "appl": "appl_id", "year": "maturity_year", "decay_start": "decay_start_date",
    "settlement": "settl_currency", "subtype": "secsubtype", (0x13, "type"): "security_type", "unit_name": "unit_of_measure",
    "strike_currency": "strike_price_currency", "leg_symbol": "leg_raw_symbol", "class": "instrument_class",
    "algorithm": "match_algorithm", (0x13, "status"): "md_security_trading_status", "fraction": "main_fraction",
    "format": "price_display_format", "price_type": "settl_price_type", "product": "underlying_product",
    (0x13, "update"): "security_update_action", "month": "maturity_month", "day": "maturity_day", "week": "maturity_week",
    "user": "user_defined_instrument", "multiplier_unit": "contract_multiplier_unit", "flow": "flow_schedule_type",
    "rule": "tick_rule", "leg_class": "leg_instrument_class", "bid": "bid_px_00", "ask": "ask_px_00", "bsize": "bid_sz_00",
    "asize": "ask_sz_00", "bvenue": "bid_pb_00", "avenue": "ask_pb_00",
}
for n in range(10):
    for ours, theirs in (("bid", "bid_px"), ("ask", "ask_px"), ("bsize", "bid_sz"), ("asize", "ask_sz"), ("bcount", "bid_ct"),
                         ("acount", "ask_ct")):
        NAMES[f"{ours}{n}"] = f"{theirs}_{n:02}"


ANSWERS = {True: "Y", False: "N", None: "~"}


def plain(value):
    """A value without its type there."""
    if value is None or isinstance(value, bool):
        return ANSWERS[value]
    value = value.value if isinstance(value, enum.Enum) else getattr(value, "value", value)
    return value.rstrip("\0") if isinstance(value, str) else int(value)


class DbnPeerTest(stack.StackTest):
    def compare(self, data):
        decoder = databento_dbn.DBNDecoder(upgrade_policy=databento_dbn.VersionUpgradePolicy.AS_IS)
        decoder.write(data)
        metadata, *theirs = decoder.decode()
        version, dataset, mappings, _ = dbn_messages.header_of(data)
        self.assertEqual((metadata.version, metadata.dataset), (version, dataset))
        self.assertEqual(sum(len(intervals) for intervals in metadata.mappings.values()), len(mappings))
        ours = [dbn_messages.split(record, version) for _, _, record in dbn_messages.records(data)]
        self.assertEqual(len(theirs), len(ours))
        compared = 0
        for mine, other in zip(ours, theirs, strict=True):
            for name in ("length", "asked_type", "given_type"):
                mine.pop(name, None)
            names = {name: NAMES.get((mine["rtype"], name)) or NAMES.get(name, name) for name in mine}
            found = {name: plain(getattr(other, known)) for name, known in names.items()}
            if found != mine:
                self.assertEqual(found, mine, str(other))
            compared += len(mine)
        return compared

    def test_real_files(self):
        compared = 0
        for path in sorted(self.fixture("dbn").rglob("*.dbn*")):
            if ".frag" not in path.name:
                with self.subTest(path=path):
                    compared += self.compare(dbn_messages.read(path))
        self.assertGreater(compared, 1_000_000)

    def test_random_records(self):
        for version in (1, 2, 3):
            with self.subTest(version=version):
                self.assertGreater(self.compare(dbn_messages.random_file(version, 2_000, seed=version, unknown=False)), 10_000)


if __name__ == "__main__":
    stack.main()
