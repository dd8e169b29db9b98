//! Flags as the plan's overrides: plan and flags are one thing, flags win.

use crate::plan::Overrides;

use super::args::{CompareArgs, LoadFlags};

/// What the flags say.
pub fn overrides(args: &CompareArgs) -> Overrides {
    Overrides {
        app: args.app.clone(),
        runtimes: given(&args.runtimes),
        rounds: args.rounds.clone(),
        seed: args.seed,
        workers: args.workers,
        cpus: args.cpus,
        memory: args.memory.clone(),
        out: args.out.clone(),
        warm_up: args.warm_up.clone(),
        expect: given(&args.expect),
        only: given(&args.only),
        time_scale: args.time_scale,
        ..load(&args.load)
    }
}

/// What the load's flags say.
pub fn load(flags: &LoadFlags) -> Overrides {
    Overrides {
        rate: flags.rate,
        schedule: flags.schedule.clone(),
        users: flags.users,
        for_: flags.length.clone(),
        requests: flags.requests,
        client: flags.client.clone(),
        keep_alive: flags.keep_alive.clone(),
        timeout: flags.timeout.clone(),
        ..Overrides::default()
    }
}

fn given(values: &[String]) -> Option<Vec<String>> {
    (!values.is_empty()).then(|| values.to_vec())
}
