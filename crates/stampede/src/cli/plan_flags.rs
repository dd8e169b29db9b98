//! Converts flags to overrides of the plan. Flags win over the plan.

use stampede_plan::Overrides;

use super::args::CompareArgs;
use super::args_load::LoadFlags;

/// Converts the flags of `compare`.
pub fn overrides(args: &CompareArgs) -> Overrides {
    Overrides {
        app: args.app.clone(),
        kind: args.kind.clone(),
        app_flags: args.about_app.flags(),
        runtimes: args.runtimes.clone(),
        compose: args.compose.flags(),
        only: args.only.clone(),
        path: args.path.clone(),
        traffic: args.traffic.flags(),
        rounds: args.rounds.clone(),
        precision: args.precision.clone(),
        max_time: args.max_time.clone(),
        fairness: args.fairness.clone(),
        starts: args.starts.clone(),
        baseline: args.baseline.clone(),
        repeat_invalid: args.repeat_invalid.clone(),
        seed: args.seed.clone(),
        workers: args.workers.clone(),
        php: args.php.clone(),
        images: args.images.clone(),
        cpus: args.cpus.clone(),
        memory: args.memory.clone(),
        out: args.out.clone(),
        warm_up: args.warm_up.clone(),
        expect: args.expect.clone(),
        time_scale: args.time_scale.clone(),
        against: args.against.clone(),
        against_prepare: args.against_prepare.clone(),
        agents: args.from.agents.clone(),
        agent_program: args.from.agent_program.clone(),
        token_file: args.from.token_file.clone(),
        listen: args.from.listen.clone(),
        ..load(&args.load)
    }
}

/// Converts the flags of a load.
pub fn load(flags: &LoadFlags) -> Overrides {
    Overrides {
        rate: flags.rate.clone(),
        schedule: flags.schedule.clone(),
        concurrency: flags.concurrency.clone(),
        for_: flags.length.clone(),
        requests: flags.requests.clone(),
        client: flags.client.clone(),
        keep_alive: flags.keep_alive.clone(),
        timeout: flags.timeout.clone(),
        max_in_flight: flags.max_in_flight.clone(),
        when_full: flags.when_full.clone(),
        arrivals: flags.arrivals.clone(),
        ..Overrides::default()
    }
}
