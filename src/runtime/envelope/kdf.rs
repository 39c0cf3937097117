//! The two derivations of a key from a password, and how much either may cost. The bounds are judged before the work
//! starts, so that an asset cannot choose how long or how large a load becomes.

use super::{Closed, KEY, SALT, Unopened, decoded, demand, text};
use crate::foundation::limits;
use crate::foundation::value::Tree;
use argon2::{Algorithm, Argon2, Block, Params, Version};
use zeroize::Zeroizing;

pub(super) const ARGON2ID: &str = "kdna.encryption.password";
const SCRYPT: &str = "kdna.encryption.password.scrypt";

/// scrypt's cost is part of the profile: log2 N, r and p. What an envelope says about it is not read.
const SCRYPT_COST: (u8, u32, u32) = (15, 8, 1);
/// Argon2id's cost where an envelope does not state it: KiB, passes and lanes.
const ARGON2ID_DEFAULT: (u32, u32, u32) = (65_536, 3, 4);

/// A derivation with its salt and its judged cost.
pub(super) struct Kdf {
    cost: Cost,
    salt: Vec<u8>,
}

enum Cost {
    Argon2id(Params),
    Scrypt(scrypt::Params),
}

impl Kdf {
    /// The derivation that an envelope of a readable profile names. Fails where the cost is out of bounds.
    pub(super) fn of(envelope: &Tree<'_>) -> Result<Self, Unopened> {
        let (cost, parameters) = match text(envelope, "profile")? {
            ARGON2ID => {
                demand(envelope, &[("kdf", "Argon2id")])?;
                let parameters = envelope.get("password_kdf").ok_or(Closed)?;
                (Cost::Argon2id(argon2id_cost(parameters)?), parameters)
            }
            SCRYPT => {
                demand(envelope, &[("kdf", "scrypt-sha256")])?;
                let (log_n, r, p) = SCRYPT_COST;
                let cost = scrypt::Params::new(log_n, r, p).map_err(|_| Closed)?;
                (Cost::Scrypt(cost), envelope.get("scrypt_params").ok_or(Closed)?)
            }
            _ => return Err(Unopened::Closed),
        };
        Ok(Self { cost, salt: decoded(text(parameters, "salt")?, SALT)? })
    }

    /// Derives the key. The memory that Argon2id worked in is wiped.
    pub(super) fn derive(&self, password: &[u8], key: &mut [u8; KEY]) -> Result<(), Closed> {
        match &self.cost {
            Cost::Scrypt(cost) => scrypt::scrypt(password, &self.salt, cost, key).map_err(|_| Closed),
            Cost::Argon2id(cost) => {
                let mut memory = Zeroizing::new(Vec::new());
                memory.try_reserve_exact(cost.block_count()).map_err(|_| Closed)?;
                memory.resize(cost.block_count(), Block::new());
                Argon2::new(Algorithm::Argon2id, Version::V0x13, cost.clone())
                    .hash_password_into_with_memory(password, &self.salt, key, memory.as_mut_slice())
                    .map_err(|_| Closed)
            }
        }
    }
}

fn argon2id_cost(parameters: &Tree<'_>) -> Result<Params, Unopened> {
    let (memory, passes, lanes) = ARGON2ID_DEFAULT;
    let memory = bounded(parameters, "memory_kib", memory, limits::KDF_MEMORY_KIB)?;
    let passes = bounded(parameters, "iterations", passes, limits::KDF_PASSES)?;
    let lanes = bounded(parameters, "parallelism", lanes, limits::KDF_LANES)?;
    if u64::from(memory) * u64::from(passes) > limits::KDF_WORK_KIB {
        return Err(Unopened::TooCostly);
    }
    // Refuses less than 8 KiB for a lane.
    Params::new(memory, passes, lanes, Some(KEY)).map_err(|_| Unopened::Closed)
}

/// A whole number from 1 to `limit`; the default where there is no such member.
fn bounded(parameters: &Tree<'_>, key: &str, default: u32, limit: u32) -> Result<u32, Unopened> {
    let Some(member) = parameters.get(key) else { return Ok(default) };
    let number = member.as_number().ok_or(Closed)?;
    match number {
        number if number > f64::from(limit) => Err(Unopened::TooCostly),
        number if number.fract() != 0.0 || number < 1.0 => Err(Unopened::Closed),
        // The shortest text of a whole number in this range is its digits.
        number => number.to_string().parse().map_err(|_| Unopened::Closed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::foundation::value::Value;

    fn cost(members: &[(&str, f64)]) -> Result<(u32, u32, u32), Closed> {
        let mut parameters = crate::foundation::value::Object::new();
        for (key, number) in members {
            parameters.insert(*key, Value::Number(*number));
        }
        let cost = argon2id_cost(&parameters.into())?;
        Ok((cost.m_cost(), cost.t_cost(), cost.p_cost()))
    }

    #[test]
    fn a_cost_within_bounds_is_taken_as_stated_and_a_missing_one_is_the_default() {
        type Case<'a> = (&'a [(&'a str, f64)], (u32, u32, u32));
        let cases: [Case<'_>; 6] = [
            (&[], (65_536, 3, 4)),
            (&[("memory_kib", 8.0), ("iterations", 1.0), ("parallelism", 1.0)], (8, 1, 1)),
            (&[("memory_kib", 262_144.0)], (262_144, 3, 4)),
            (&[("memory_kib", 262_144.0), ("iterations", 4.0)], (262_144, 4, 4)),
            (&[("iterations", 16.0)], (65_536, 16, 4)),
            (&[("memory_kib", 64.0), ("parallelism", 8.0)], (64, 3, 8)),
        ];
        for (members, expected) in cases {
            assert!(cost(members).is_ok_and(|cost| cost == expected), "{members:?}");
        }
    }

    #[test]
    fn a_cost_out_of_bounds_is_refused_before_any_work() {
        let cases: [&[(&str, f64)]; 16] = [
            &[("memory_kib", 262_145.0), ("iterations", 1.0)],
            &[("iterations", 17.0), ("memory_kib", 64.0)],
            &[("parallelism", 9.0)],
            // Each within its own bound, the work not.
            &[("memory_kib", 262_144.0), ("iterations", 5.0)],
            &[("memory_kib", 65_537.0), ("iterations", 16.0)],
            &[("memory_kib", 31.0)],
            &[("memory_kib", 7.0), ("parallelism", 1.0)],
            &[("memory_kib", 0.0)],
            &[("iterations", 0.0)],
            &[("parallelism", 0.0)],
            &[("iterations", -1.0)],
            &[("iterations", 1.5)],
            &[("memory_kib", f64::NAN)],
            &[("memory_kib", f64::INFINITY)],
            &[("memory_kib", 4_294_967_304.0)],
            &[("memory_kib", 1e300)],
        ];
        for members in cases {
            assert!(cost(members).is_err(), "{members:?}");
        }
        for member in [Value::Null, "65536".into(), Value::Unprintable] {
            assert!(argon2id_cost(&Value::object([("memory_kib", member)])).is_err());
        }
    }

    /// The bound is on the work, whatever its shape: the most that is admitted is not much more than the default.
    #[test]
    fn no_admitted_cost_is_more_than_a_few_times_the_default() {
        let (memory, passes, _) = ARGON2ID_DEFAULT;
        assert!(limits::KDF_WORK_KIB <= 6 * u64::from(memory) * u64::from(passes));
    }
}
