//! What the resolver's own tests share.

/// Repeatable draws below a bound, from a seed.
pub(super) fn draws(seed: u32) -> impl FnMut(u32) -> u32 {
    let mut state = seed;
    move |bound| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) % bound
    }
}
