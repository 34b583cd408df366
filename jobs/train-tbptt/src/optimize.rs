//! AdamW over all parameters as one vector, and the learning rate of each update.

use tch::{Kind, Tensor, no_grad};

use crate::config::Train;
use crate::model::Parameters;

const BETA1: f64 = 0.9;
const BETA2: f64 = 0.999;
const EPSILON: f64 = 1e-8;

/// The optimizer's state.
#[derive(Debug)]
pub(crate) struct AdamW {
    pub(crate) first: Tensor,
    pub(crate) second: Tensor,
}

impl AdamW {
    /// The state before the first update.
    pub(crate) fn new(parameters: &Parameters) -> Self {
        Self { first: parameters.flat().zeros_like(), second: parameters.flat().zeros_like() }
    }

    /// Update number `step`, from 1 on. The gradient is clipped first; its norm before that, a tensor, is returned.
    pub(crate) fn update(
        &mut self,
        parameters: &Parameters,
        gradient: &Tensor,
        step: u64,
        rate: f64,
        config: &Train,
    ) -> Tensor {
        no_grad(|| {
            let norm = gradient.norm();
            let gradient = gradient * (config.clip / (&norm + 1e-6)).clamp_max(1.0);
            let steps = step as f64;
            let (whole1, whole2) = (1.0 - libm::pow(BETA1, steps), 1.0 - libm::pow(BETA2, steps));
            let mut values = parameters.flat().shallow_clone();
            let _ = values.g_mul_scalar_(1.0 - rate * config.weight_decay);
            let _ = self.first.lerp_(&gradient, 1.0 - BETA1);
            let _ = self.second.g_mul_scalar_(BETA2);
            let _ = self.second.g_add_(&(gradient.square() * (1.0 - BETA2)));
            let mut scale = self.second.sqrt();
            let _ = scale.g_div_scalar_(libm::sqrt(whole2));
            let _ = scale.g_add_scalar_(EPSILON);
            let _ = values.g_sub_(&(&self.first / scale * (rate / whole1)));
            norm.to_kind(Kind::Float)
        })
    }
}

/// Learning rate of update number `step`, from 1 on, of `total`: a linear warm-up, then a cosine to the final share.
pub(crate) fn rate(config: &Train, step: u64, total: u64) -> f64 {
    let warmup = config.warmup.min(total / 5);
    if step <= warmup {
        return config.learning_rate * step as f64 / warmup as f64;
    }
    let left = (total - warmup).max(1) as f64;
    let done = ((step - warmup) as f64 / left).min(1.0);
    let cosine = 0.5 * (1.0 + libm::cos(std::f64::consts::PI * done));
    config.learning_rate * (config.final_share + (1.0 - config.final_share) * cosine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_rises_then_falls_to_its_share() {
        let config = Train { learning_rate: 1.0, warmup: 10, final_share: 0.1, ..Train::default() };
        let rates: Vec<f64> = (1..=100).map(|step| rate(&config, step, 100)).collect();
        assert!((rates[0] - 0.1).abs() < 1e-12 && (rates[9] - 1.0).abs() < 1e-12);
        assert!(rates[9..].windows(2).all(|two| two[1] < two[0]));
        assert!((rates[99] - 0.1).abs() < 1e-12);
        // a fifth of all updates at most
        assert!((rate(&config, 1, 5) - 1.0).abs() < 1e-12);
        assert!(rate(&config, 1, 1).is_finite());
    }
}
