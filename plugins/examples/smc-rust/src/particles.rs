// SPDX-License-Identifier: MIT

use penstock::{host, Branch, BranchError, Run};

/// A continuation with a weight.
pub(crate) struct Particle<'r> {
    pub branch: Branch<'r>,
    pub log: f64, // of its weight
    pub ended: bool,
}

impl<'r> Particle<'r> {
    pub fn new(branch: Branch<'r>) -> Particle<'r> {
        Particle { branch, log: 0.0, ended: false }
    }
}

/// The particles' weights, whose sum is 1, the logarithm of their mean before, and how many
/// particles of equal weight they are worth.
pub(crate) fn weigh(particles: &[Particle]) -> (Vec<f64>, f64, f64) {
    let highest = particles.iter().map(|p| p.log).fold(f64::NEG_INFINITY, f64::max);
    let mut weights: Vec<f64> = particles.iter().map(|p| (p.log - highest).exp()).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|w| *w /= sum);
    let size = 1.0 / weights.iter().map(|w| w * w).sum::<f64>();
    (weights, highest + (sum / particles.len() as f64).ln(), size)
}

/// The index whose part of the weights has the place `u` of the whole, from 0 to 1.
pub(crate) fn pick(weights: &[f64], mut u: f64) -> usize {
    let found = weights.iter().position(|w| {
        let here = u < *w;
        u -= w;
        here
    });
    found.unwrap_or(weights.len() - 1)
}

/// Draws as many particles by their weights, which are equal then.
pub(crate) fn resample<'r>(run: &'r Run, particles: Vec<Particle<'r>>, weights: &[f64]) -> Result<Vec<Particle<'r>>, BranchError> {
    let (u, n) = (f64::from(host::uniform()), particles.len());
    let picks: Vec<usize> = (0..n).map(|i| pick(weights, (u + i as f64) / n as f64)).collect();
    let ended: Vec<bool> = particles.iter().map(|p| p.ended).collect();
    let branches = run.select(particles.into_iter().map(|p| p.branch).collect(), &picks)?;
    Ok(branches.into_iter().zip(&picks).map(|(branch, from)| Particle { branch, log: 0.0, ended: ended[*from] }).collect())
}
