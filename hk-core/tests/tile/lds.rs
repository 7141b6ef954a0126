//! `hk/lds.h`: the check for bank conflicts, and the tiles that it is for.

use crate::gpu::compiles;

#[test]
fn the_check_finds_conflicts() {
    let cases = [
        // Lanes next to each other.
        ("arch::lds_read_b128", "lane * 16u", true),
        ("arch::lds_write_b128", "lane * 16u", true),
        ("arch::lds_read_b64", "lane * 8u", true),
        ("arch::lds_write_b64", "lane * 8u", true),
        // All lanes at one address: a broadcast.
        ("arch::lds_read_b128", "lane * 0u", true),
        // Columns of a matrix: every row in the same banks.
        ("arch::lds_read_b128", "lane % 16 * 256u + lane / 16 * 16u", false),
        ("arch::lds_read_b64", "lane % 16 * 256u + lane / 16 * 8u", false),
        ("arch::lds_write_b64", "lane * 512u", false),
        // The same columns, swizzled.
        ("arch::lds_read_b128", "lane % 16 * 256u + (lane / 16 ^ lane % 16) * 16u", true),
    ];
    for (access, address, free) in cases {
        let not = if free { "" } else { "!" };
        let source = format!(
            "static_assert({not}conflict_free<{access}>([](int lane) {{ return {address}; }}));"
        );
        assert_eq!(compiles(&["lds.h"], &source), [true; 2], "{access} {address}");
    }
}

#[test]
fn operands_of_every_shape_are_free_of_conflicts() {
    // The header asserts it of every operand that is used: of reads, and of writes.
    let mut source = String::from(
        "template <class Order, int Rows, int Depth, int Threads, class Map, int Parts>
        constexpr bool free_of_conflicts() {
          using tile = operand<f16, Order, Rows, Depth, Threads, Map, Parts>;
          return tile::reads_are_conflict_free() && tile::writes_are_conflict_free();
        }\n",
    );
    for (rows, depth, threads) in [
        (64, 64, 256),
        (128, 64, 256),
        (256, 64, 512),
        (64, 128, 256),
        (128, 128, 256),
        (64, 256, 256),
    ] {
        for (dim, paired) in [(16, false), (16, true), (32, false), (32, true)] {
            for parts in [1, 2] {
                if rows / parts < 64 {
                    continue;
                }
                let map = format!("row_map<{dim}, {paired}>");
                let mut check = |order: &str| {
                    source += &format!(
                        "static_assert(free_of_conflicts<{order}, {rows}, {depth}, {threads}, \
                         {map}, {parts}>());\n"
                    );
                };
                check("k_major");
                // What transposing reads take.
                if dim == 16 && !paired {
                    check("mn_major");
                }
            }
        }
    }
    assert_eq!(compiles(&["operand.h"], &source), [true; 2]);
}

#[test]
fn operands_whose_lanes_have_chunks_side_by_side_are_free_of_conflicts() {
    let mut source = String::new();
    for (rows, depth, chunks, paired) in
        [(16, 128, 2, false), (64, 256, 2, true), (64, 256, 4, false), (128, 512, 4, true)]
    {
        source += &format!(
            "static_assert(operand<f16, k_major, {rows}, {depth}, 256, row_map<16, {paired}>, 1, \
             {chunks}, true>::reads_are_conflict_free());\n"
        );
    }
    assert_eq!(compiles(&["operand.h"], &source), [true; 2]);
}

#[test]
fn an_operand_without_its_swizzle_would_conflict() {
    let source = "
        using tile = operand<f16, k_major, 128, 64, 256, row_map<16, false>>;
        static_assert(!conflict_free<arch::lds_read_b128>([](int lane) {
          return lane % 16 * u32{tile::line_bytes} + lane / 16 * 16;
        }));
        static_assert(tile::reads_are_conflict_free());";
    assert_eq!(compiles(&["operand.h"], source), [true; 2]);
}
