// The data of the page, as the program writes them. `cargo xtask types` wrote this file from the
// program's own types: change those.
// tidy: data table

/** All data of the page. */
export interface Page {
  /** The format's version, `FORMAT`. */
  format: number;
  /** The version of stampede that wrote the page. */
  stampede: string;
  /** The runs that the page shows. Several runs are overlaid. */
  runs: Run[];
  /**
   * For several runs: maps a name in the summary to the runtime and its run. Empty for a single
   * run, in which names are the runtimes' own.
   */
  names: Record<string, OverlaidRuntime>;
  /** The content of `summary.json`, without the seconds of the trials. */
  summary: Summary;
  /** The answer for each app. Empty if several runs are combined. */
  headlines: Headline[];
  /** Two versions of the apps. `None`: the run has only one, or there are several runs. */
  versions?: ComparedVersions | null;
  /** One for each trial that has a load, and one for each trial that has not ended. */
  series: Series[];
  /** One for each case with a trial that counts. */
  curves: Curve[];
  /** The evidence behind the figures. */
  evidence: Evidence;
  /** Files that the page offers for download. */
  downloads: Download[];
  /** The progress of a run that has not ended. `None`: it has ended, or there are several runs. */
  progress?: Progress | null;
  /** The addresses of `stampede serve`. `None`: the page is a file. */
  served?: ServerLinks | null;
}

/** The list of runs, in the form that the page reads. */
export interface List {
  /** The format's version, as of a report. */
  format: number;
  /** The version of stampede that serves the list. */
  stampede: string;
  /** The newest run first. */
  history: LinkedRun[];
  /** The directory that holds the runs. */
  results: string;
  /** Where the server has the list and more. */
  served: ListAddresses;
}

/** A run, and the address of its page. */
export interface LinkedRun {
  /** Name of the directory, which `report` accepts. */
  name: string;
  /** Start of the run in RFC 3339; empty if the run cannot be read. */
  started_at: string;
  /** Whether the run ended, is running, or cannot be read. */
  state: State;
  /** Why the run cannot be read; empty if it can. */
  why: string;
  /** Names of the apps, each once. */
  apps: string[];
  /** Names of the loads, each once. */
  loads: string[];
  /** Names of the runtimes, each once. */
  runtimes: string[];
  /** Number of planned rounds. */
  rounds: number;
  /** Number of trials that ended. */
  trials_ended: number;
  /** Number of trials in the plan. */
  trials_planned: number;
  /** Number of ended trials that do not count. */
  trials_invalid: number;
  /** What the run found, for each app and load; empty until the run has its summary. */
  answers: Answer[];
  /** Path and query of the run's page. Empty: it has none, since its directory is a link. */
  page: string;
}

/** The state of a run. */
export type State =
  /** The run has every trial of its plan. */
  | "ended"
  /** A stampede writes the run now. */
  | "under_way"
  /** The run ended early. */
  | "cut_off"
  /** The run is damaged, or a newer stampede wrote it. */
  | "unreadable";

/** What a run found for one app and one load. */
export interface Answer {
  /** The app's name. */
  app: string;
  /** The load's name. */
  load: string;
  /** How the rows compare with the baseline, and how sure that is. */
  sentence: string;
}

/** Addresses on the server that sent the list. */
export interface ListAddresses {
  /** The list itself. */
  home: string;
  /** Server-sent events. */
  events: string;
  /** The page of several runs, to which the names of the runs are appended. */
  over: string;
  /** The page of each row over the runs. */
  rows: string;
}

/** Each row over the runs, in the form that the page reads. */
export interface OverRuns {
  /** The format's version, as of a report. */
  format: number;
  /** The version of stampede that serves the page. */
  stampede: string;
  /** The directory that holds the runs. */
  results: string;
  /** The rows, in the order of the newest run. */
  rows: RowOverRuns[];
  /** Fewest runs in which a lasting change is looked for. */
  runs_min: number;
  /** Maps the name of each run to path and query of its page. */
  pages: Record<string, string>;
  /** Number of runs that are older than those that were read. */
  older: number;
  /** Where the server has the list. */
  served: ServerLinks;
}

/** One row over the runs that have it on one machine. */
export interface RowOverRuns {
  /** The name of the runtime or the variant. */
  runtime: string;
  /** The app's name. */
  app: string;
  /** The load: `busy: const(200,30s)`. */
  load: string;
  /** CPU and number of CPUs. Empty: not known. */
  machine: string;
  /** Whether the plan of the newest run calls it the control. */
  is_control: boolean;
  /** The runs, oldest first. */
  runs: RunOfRow[];
  /** The figures that two runs or more have. */
  figures: FigureOverRuns[];
}

/** A run in which a row was measured. */
export interface RunOfRow {
  /** The run's name. */
  name: string;
  /** Start of the run in RFC 3339. */
  started_at: string;
  /** The commit of the app's working tree. `None`: not known. */
  commit: string | null;
  /** Number of files that differed from it. `None`: not known, as in runs without another version. */
  changed_files: number | null;
}

/** A figure of a row over its runs. */
export interface FigureOverRuns {
  /** The figure: `p95 of response time`, `CPU/request ÷ control`. */
  title: string;
  /** Whether a higher value is better. */
  is_good: boolean;
  /** The figure in each run, in the order of `RowOverRuns::runs`. */
  points: PointOfRun[];
  /** Lasting changes, oldest first. */
  changes: ChangeOverRuns[];
}

/** A figure in one run. */
export interface PointOfRun {
  /**
   * The value: times in ns, memory in bytes, CPU time per request in µs. `None`: the run does not
   * have it exactly.
   */
  value: number | null;
  /** The 95 % interval. `None`: there is none. */
  interval: [number, number] | null;
  /** The value with its interval and unit, in words. */
  text: string;
}

/** A lasting change of a figure. */
export interface ChangeOverRuns {
  /** The index of the first run of the new level. */
  at: number;
  /** Whether the figure became worse. */
  is_worse: boolean;
  /** The change in words. */
  text: string;
  /** What else was not alike in the runs before and after. */
  differences: string[];
}

/** Addresses on the server that sent the page, `stampede serve`. */
export interface ServerLinks {
  /** The list of runs. */
  home: string;
  /** Server-sent events. `None`: nothing will change. */
  events: string | null;
}

/** The data that changes each second while a run is in progress. */
export interface LiveUpdate {
  /** The progress of the run. `None`: it has ended. */
  progress: Progress | null;
  /** The current trial so far. `None`: there is none. */
  series: Series | null;
}

/** The progress of a run. */
export interface Progress {
  /** Number of trials that have ended. */
  ended: number;
  /** Number of planned trials. */
  planned: number;
  /** The current trial. `None`: there is none. */
  under_way: CurrentTrial | null;
}

/** The current trial. */
export interface CurrentTrial {
  /** The trial's number in the run, counted from 1. */
  trial: number;
  /** The index of its case in `Summary::cases`. */
  case: number;
  /** Seconds of the load so far. 0: the runtime starts, or is verified or warmed up. */
  seconds: number;
}

/**
 * A trial over time, one column per figure and one entry per row. Row `i` covers the seconds from
 * `i × step` to `(i + 1) × step` of the load.
 */
export interface Series {
  /** The index of its case in `Summary::cases`. */
  case: number;
  /** The trial's number. */
  trial: number;
  /** The round, counted from 1. */
  round: number;
  /**
   * Whether the trial has not ended: its run is in progress, or was cut off during the trial.
   * Such a trial does not count.
   */
  unfinished: boolean;
  /** Seconds that one row covers. 1 unless the series is thinned. */
  step: number;
  /** Arithmetic mean. */
  mean: (number | null)[];
  /** Median. */
  p50: (number | null)[];
  /** 95 % of the times are at most this. */
  p95: (number | null)[];
  /** 99 %. */
  p99: (number | null)[];
  /** The longest time. */
  max: (number | null)[];
  /** Requests due per second. */
  offered: number[];
  /** Correct answers per second. */
  ok: number[];
  /** Requests per second that were due but never started. */
  dropped: number[];
  /** Failed requests per second, by kind of failure. */
  failed: Record<string, number[]>;
  /** The highest number of requests in flight. */
  in_flight: number[];
  /** The resource use of the stack. */
  resources: Resources;
}

/** The resource use of the stack over time, by role. */
export interface Resources {
  /** Seconds since the load began. */
  at: number[];
  /** Share of the whole stack's CPU budget, in per cent. */
  cpu_percent: Record<string, (number | null)[]>;
  /** Memory in MiB. `None`: not read in that row. */
  memory_mib: Record<string, (number | null)[]>;
  /**
   * Bytes per second that were read from disks and written to them. Empty: none were, or no role
   * shows them.
   */
  disk_bytes_per_second: Record<string, (number | null)[]>;
  /** Bytes per second that the network received and sent. Empty: no role has a network of its own. */
  network_bytes_per_second: Record<string, (number | null)[]>;
}

/** All figures of a trial, or of a case over its trials. */
export interface Figures {
  /** Response time over all planned requests. Open model only. */
  response_time_ns: TimeFigures;
  /** The same without schedule lag, the generator's own delay. Open model only. */
  response_time_without_lag_ns: TimeFigures;
  /**
   * A lower bound of the time that tables show, which is response time in the open model and
   * service time in the closed one: also without the time for which answers may have been there
   * before they were seen. Only where nothing stamps what arrives (Unix sockets).
   */
  lower_bound_ns: TimeFigures;
  /**
   * The figures of the time that tables show of which the generator's own delay makes, or may
   * make, more than 5 % and 20 µs.
   */
  lag_marks?: LagMark[];
  /** Response time of the ok requests alone. Open model only. */
  response_time_ns_ok: TimeFigures;
  /** Service time over all planned requests. */
  service_time_ns: TimeFigures;
  /** Service time of the ok requests alone. */
  service_time_ns_ok: TimeFigures;
  /** The wait for a free connection, caused by the runtime. */
  connection_wait_ns_p99: Figure;
  /** The delay in sending, caused by the generator. */
  schedule_lag_ns_p99: Figure;
  /** From the runtime's start to the first correct answer. */
  first_answer_ns: Figure;
  /** Duration of the request that got this first answer: a cold start, as a client sees it. */
  first_request_ns: Figure;
  /** Correct answers ÷ planned requests, 0 to 1. */
  ok_share: Figure;
  /** Requests due per second. Open model only. */
  offered_per_second: Figure;
  /** Correct answers done within the schedule ÷ its length. */
  throughput_per_second: Figure;
  /** Bytes of answers per second, heads included, until the last answer. */
  received_bytes_per_second: Figure;
  /** Bytes of requests per second, heads included, until the last answer. */
  sent_bytes_per_second: Figure;
  /** Share of the whole stack's budget: the median of the readings within the schedule. */
  cpu_percent_median: Figure;
  /** The highest of those readings. */
  cpu_percent_max: Figure;
  /** CPU time of the whole stack per correct answer, in µs. */
  cpu_cost_us: Figure;
  /**
   * CPU time of the container engine beside the budget (its daemon, shims and proxies) per correct
   * answer, in µs. Rows of containers only.
   */
  engine_cost_us?: Figure;
  /** Memory of the whole stack: the median of the readings. */
  memory_bytes_median: Figure;
  /** The highest reading. */
  memory_bytes_max: Figure;
  /** The figures of each role. */
  roles: Record<string, RoleFigures>;
}

/** The times of a set of requests, in ns. */
export interface TimeFigures {
  /** The arithmetic mean within a trial. */
  mean: Figure;
  /** The median. */
  p50: Figure;
  /** 75 % of the requests took at most this time. */
  p75: Figure;
  /** 80 %. */
  p80: Figure;
  /** 85 %. */
  p85: Figure;
  /** 90 %. */
  p90: Figure;
  /** 95 %. */
  p95: Figure;
  /** 98 %. */
  p98: Figure;
  /** 99 %. */
  p99: Figure;
  /** 99.9 %. */
  "p99.9": Figure;
  /** The longest time. */
  max: Figure;
}

/** One figure, and how exactly it is known. */
export type Figure =
  /** The exact value. */
  | Estimate & {
    state: "exact";
  }
  /** A lower bound: a timeout cut the value off, or the generator was at its limit. */
  | Estimate & {
    state: "at_least";
  }
  /** A request without a correct answer is at this rank or a lower one, in at least one trial. */
  | {
    state: "failed";
  }
  /** Fewer than ten requests lie beyond this rank, so no value is given. */
  | {
    state: "too_few";
  }
  /** The figure does not exist here, or could not be read. */
  | {
    state: "none";
  };

/** A value over trials, with its interval where there are enough trials for one. */
export interface Estimate {
  /**
   * Geometric mean of the trials' values: the value itself for one trial, and the arithmetic
   * mean if a trial's value is not positive.
   */
  value: number;
  /**
   * 95 % interval over trials, not requests: the requests of one trial share a warm cache and
   * are not independent. `None` with fewer than three trials, and if a trial's value is not
   * positive, because it has no log. The interval is Student's t on logs. From ten trials on, it
   * is the smallest interval that contains that one and a bootstrap (`bootstrap::interval`). A
   * bootstrap follows the skew, but alone it covers too seldom where tails are long.
   */
  interval: [number, number] | null;
  /** Number of trials. */
  trials: number;
}

/**
 * A figure of which the generator's own delay makes, or may make, more than 5 % and more than
 * 20 µs: of response time in the open model, of service time in the closed one.
 */
export interface LagMark {
  /** The figure: `mean`, a percentile such as `p99.9`, or `max`. */
  figure: "mean" | "p50" | "p75" | "p80" | "p85" | "p90" | "p95" | "p98" | "p99" | "p99.9" | "max";
  /** Its value, in nanoseconds. */
  time_ns: number;
  /** Its value without the generator's own delay, in nanoseconds. */
  without_lag_ns: number;
  /**
   * Whether part of the difference is only possible: how long answers may have been there before
   * they were seen, where nothing stamps what arrives (Unix sockets).
   */
  may?: boolean;
}

/** The resource use of one role. */
export interface RoleFigures {
  /** Share of the whole stack's budget: the median of the readings. */
  cpu_percent_median: Figure;
  /** The highest reading. */
  cpu_percent_max: Figure;
  /** CPU time of the role per correct answer, in µs. */
  cpu_cost_us: Figure;
  /** Median of the readings. */
  memory_bytes_median: Figure;
  /** The highest reading. */
  memory_bytes_max: Figure;
}

/** What limited a runtime: a stable code with its figures. */
export type LimitFound =
  /** A load thread of the generator was busy. */
  | {
    code: "load_thread_busy";
    /** CPU share of the busiest load thread, from 0 to 1. */
    busy_share: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The generator itself was late. */
  | {
    code: "generator_late";
    /** Schedule lag at p99, in nanoseconds. */
    schedule_lag_ns_p99: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The kernel killed processes because memory was full. */
  | {
    code: "killed_for_memory";
    /** Number of processes. */
    kills: number;
    /** The stack's limit in bytes; 0: it has none. */
    limit_bytes: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The stack's memory is full. */
  | {
    code: "stack_memory_full";
    /** The most memory in use, in bytes. */
    used_bytes: number;
    /** The stack's limit in bytes. */
    limit_bytes: number;
    /** How often the limit was reached. */
    limit_hits: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** Processes waited while the kernel took pages back. */
  | {
    code: "waited_for_memory";
    /** Share of the time, from 0 to 1. */
    share: number;
    /** The stack's limit in bytes; 0: it has none. */
    limit_bytes: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** PHP's `memory_limit` was reached. */
  | {
    code: "php_memory_limit";
    /** How often it was logged. */
    times: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** A CPU quota held the stack back. */
  | {
    code: "throttled";
    /** Time for which the quota held it back, in nanoseconds. */
    throttled_ns: number;
    /** Time in which that was measured, in nanoseconds. */
    watched_ns: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The stack used up the CPU quota that its budget is. */
  | {
    code: "quota_used_up";
    /** Share of the time for which the quota held the stack back, from 0 to 1. */
    share: number;
    /** CPUs of the budget. */
    cpus: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** All workers were busy, the CPU was not. */
  | {
    code: "all_workers_busy";
    /** Number of workers. */
    workers: number;
    /** Share of the CPU budget that was used; null: not known. */
    cpu_share: number | null;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The stack used its CPU budget. */
  | {
    code: "cpu_full";
    /** Share of the CPU budget that was used. */
    cpu_share: number;
    /** CPUs of the budget. */
    cpus: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The workers wanted more CPU, and other programs had it. */
  | {
    code: "cpu_taken";
    /** Share of the CPU budget that the stack got. */
    cpu_share: number;
    /** CPUs of the budget. */
    cpus: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** No limit was reached. */
  | {
    code: "no_limit_reached";
    /** Share of the CPU budget. */
    cpu_share: number;
    /** Busy workers on average. */
    workers_busy: number;
    /** Number of workers. */
    workers: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The load was too small to keep the workers busy. */
  | {
    code: "load_too_small";
    /** Most requests in flight. */
    in_flight_max: number;
    /** Share of the CPU budget. */
    cpu_share: number;
    /** Busy workers on average. */
    workers_busy: number;
    /** Number of workers. */
    workers: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** Xdebug is loaded. */
  | {
    code: "xdebug_loaded";
    /** Value of `xdebug.mode`; null: Xdebug 2, which has none. */
    mode: string | null;
    /** The same as a sentence in English. */
    text: string;
  }
  /** OPcache is off. */
  | {
    code: "opcache_off";
    /** The same as a sentence in English. */
    text: string;
  }
  /** OPcache is full. */
  | {
    code: "opcache_full";
    /** Memory in use, in bytes. */
    used_bytes: number;
    /** All memory of OPcache, in bytes. */
    memory_bytes: number;
    /** Number of cached files. */
    files: number;
    /** Most files that it can hold. */
    files_max: number;
    /** How often it was emptied under load. */
    restarts: number;
    /** Files compiled anew under load. */
    misses: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** OPcache looks at every file again for every request. */
  | {
    code: "opcache_checks_files";
    /** The same as a sentence in English. */
    text: string;
  }
  /** The web server logged its own limit. */
  | {
    code: "web_server_limit";
    /** The program that logged it. */
    program: string;
    /** How often. */
    times: number;
    /** The first line. */
    line: string;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The app itself gave failing answers. */
  | {
    code: "app_failed";
    /** The statuses, the most frequent one first. At most three. */
    statuses: StatusCount[];
    /** The same as a sentence in English. */
    text: string;
  }
  /** The web server got no answer from PHP. */
  | {
    code: "upstream_failed";
    /** Status of the answers. */
    status: number;
    /** Number of such answers. */
    times: number;
    /** The program that logged the reason. */
    program: string;
    /** The first line. */
    line: string;
    /** The same as a sentence in English. */
    text: string;
  }
  /** A listen queue was full, and connections were dropped. */
  | {
    code: "queue_dropped";
    /** The listener. */
    listener: string;
    /** Its listen backlog. */
    backlog: number;
    /** Number of dropped connections. */
    drops: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** A listen queue was full. */
  | {
    code: "queue_full";
    /** The listener. */
    listener: string;
    /** Its listen backlog. */
    backlog: number;
    /** The program that was refused; null: none logged it. */
    program: string | null;
    /** How often it was refused. */
    times: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** A program logged that a full queue refused it. */
  | {
    code: "queue_refused";
    /** The program. */
    program: string;
    /** How often it was refused. */
    times: number;
    /** The first line. */
    line: string;
    /** The same as a sentence in English. */
    text: string;
  }
  /** Requests met a full queue. */
  | {
    code: "queue_met";
    /** Number of requests. */
    requests: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** A listen queue of this machine overflowed. Whose is not known. */
  | {
    code: "machine_queue_full";
    /** How often. */
    times: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** Nagle's algorithm together with delayed acknowledgements. */
  | {
    code: "tcp_delay";
    /**
     * Share of the answers that took as long as an acknowledgement sent late: 40 to 60 ms, or
     * to 80 ms where workers were watched.
     */
    share: number;
    /** Share of the CPU budget that was used; null: not known. */
    cpu_share: number | null;
    /** The same as a sentence in English. */
    text: string;
  }
  /** A sentence of a result of format 1, which had no codes. */
  | {
    code: "text";
    text: string;
  };

/** Number of answers with one status. */
export interface StatusCount {
  /** The status. */
  status: number;
  /** Number of answers. */
  times: number;
}

/** A run, and the command that repeats it. */
export interface Run {
  /** `A`, `B` … Empty: there is only one run. */
  label: string;
  /** The run's id. */
  run: string;
  /** When the run started, in RFC 3339. */
  started_at: string;
  /** The version of stampede that measured the run. */
  stampede: string;
  /** Seed of the order of trials. */
  seed: number;
  /** Number of planned rounds. */
  rounds: number;
  /** Whether the run ended, is in progress, or was cut off. */
  state: RunState;
  /** The names of its runtimes in the summary, in the plan's order. */
  runtimes: string[];
  /** The plan as it was run. Empty: it was made of flags alone. */
  plan_text: string;
  /** The flags that changed the plan. */
  flags: string[];
  /** The command that repeats the run. */
  command: string;
  /** The machine, as pairs of a label and a value. */
  machine: ([string, string])[];
}

/** The state of a run. */
export type RunState =
  /** The run has every trial of its plan. */
  | "ended"
  /** A stampede writes the run now, and holds the lock on `run.json`. */
  | "under_way"
  /** The run ended early, because of Ctrl-C, a signal or a full disk. */
  | "cut_off";

/** The runtime that a name in the summary stands for. */
export interface OverlaidRuntime {
  /** The runtime's or variant's own name. */
  runtime: string;
  /** Index in `Page::runs`. */
  run: number;
}

/** The summary of a whole run. */
export interface Summary {
  /** The format's version, `FORMAT`. */
  format: number;
  /** The run's id, which is the name of its directory. */
  run: string;
  /** The version of stampede that measured the run. */
  stampede: string;
  /** When the run started, in RFC 3339. */
  started_at: string;
  /** Seed of the order of trials. */
  seed: number;
  /** Number of planned rounds. */
  rounds: number;
  /** Notices about the run as a whole, such as decisions for all cases. */
  notices: Notice[];
  /** The parameters and findings of `rounds: auto`. `None`: the number of rounds was fixed. */
  auto?: AutoRecord | null;
  /** One group for each app and load, in the plan's order. */
  groups: Group[];
  /** All cases, by group, the best first. */
  cases: CaseSummary[];
  /** Published tables beside the figures. `None`: the plan names none. */
  published?: PublishedComparison | null;
}

/** What the reader of a whole run should know. */
export type Notice =
  /** stampede chose the values that the user did not give. */
  | {
    code: "chosen";
    /** Flags that ask for the same values. */
    flags: string[];
    /** The same as a sentence in English. */
    text: string;
  }
  /** More runtimes are installed than were chosen. */
  | {
    code: "also_installed";
    /** The names of those runtimes. */
    runtimes: string[];
    /** The same as a sentence in English. */
    text: string;
  }
  /** Some runtimes were left out of the choice. */
  | {
    code: "left_out";
    /** The names of those runtimes. */
    runtimes: string[];
    /** The reason. */
    why: Unsuited;
    /** What the user can do, in English. Null: nothing helps. */
    todo: string | null;
    /** The same as a sentence in English. */
    text: string;
  }
  /** A runtime of the plan is not available and was skipped. */
  | {
    code: "runtime_skipped";
    /** The runtime's name. */
    runtime: string;
    /** The reason. */
    cause: Cause;
    /** What the user can do, in English. Null: nothing helps. */
    todo: string | null;
    /** The same as a sentence in English. */
    text: string;
  }
  /** A runtime of the plan is not available on this machine: its programs come from official images. */
  | {
    code: "runtime_from_images";
    /** The runtime's name. */
    runtime: string;
    /** Why it is not available. */
    cause: Cause;
    /** The same as a sentence in English. */
    text: string;
  }
  /** A load was skipped because none of its runtimes is available. */
  | {
    code: "load_skipped";
    /** The load's name. */
    load: string;
    /** The same as a sentence in English. */
    text: string;
  }
  /** stampede detected the kind of app in a directory. */
  | {
    code: "app_detected";
    /** The app's name. */
    app: string;
    /** What was detected. */
    detected: Detected;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The app's `.env` has other values than those that the app is measured with. */
  | {
    code: "env_overruled";
    /** The values in `.env`, such as `APP_ENV=dev APP_DEBUG=1`. */
    own: string;
    /** The values that are used, such as `APP_ENV=prod APP_DEBUG=0`. */
    given: string;
    /** The same as a sentence in English. */
    text: string;
  }
  /**
   * The app's `.htaccess` or `.user.ini` has lines that are applied in a way of their own, or that
   * some runtimes do not apply.
   */
  | DirectoryFiles & {
    code: "directory_files";
    /** The same as a sentence in English. */
    text: string;
  }
  /**
   * The app names its own directory by its whole path, and its copy cannot take the place of that
   * directory: what it reads and writes there is the original.
   */
  | {
    code: "own_paths";
    /** The app's name. */
    app: string;
    /** The first file with such a path, relative to the app's directory. */
    file: string;
    /** The number of the line, from 1. */
    line: number;
    /** Number of such files. */
    files: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** This machine's PHP is set up otherwise than the run's runtimes. */
  | {
    code: "host_php";
    /** The version of that PHP. Null: its files do not say. */
    version: string | null;
    /** Number of settings that differ. */
    count: number;
    /** The settings, the most important first. */
    settings: HostSetting[];
    /** The runtimes that would measure it, as a flag has them. */
    try_it: string;
    /** The same as a sentence in English. */
    text: string;
  }
  /** A runtime is set up as this machine is. */
  | {
    code: "as_today";
    /** The runtime's name. */
    runtime: string;
    /** What it is. */
    title: string;
    /** What was taken over. */
    settings: HostSetting[];
    /** Its number of workers. Null: the machine's files do not say. */
    workers: number | null;
    /** The number of workers of a runtime without settings of its own. */
    others_workers: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** Settings of this machine that such a runtime does not have, or has with a limit. */
  | {
    code: "not_as_today";
    /** The runtime's name. */
    runtime: string;
    /** The settings. */
    settings: LimitedSetting[];
    /** The same as a sentence in English. */
    text: string;
  }
  /** The app would send mail, and is measured with mail switched off. */
  | {
    code: "no_mail";
    /** The variable that says how mail is sent. */
    variable: string;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The load reaches the app's own database. */
  | {
    code: "own_database";
    /** The address of the database. */
    at: string;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The app is compared with another revision of itself. */
  | Versions & {
    code: "against";
    /** The same as a sentence in English. */
    text: string;
  }
  /** The budget has more CPUs than the machine: all CPUs are used. */
  | {
    code: "budget_cpus_too_many";
    /** Number of CPUs asked for. */
    cpus: number;
    /** Number of CPUs of the machine. */
    machine_cpus: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The budget has more memory than the machine: all memory is used. */
  | {
    code: "budget_memory_too_large";
    /** Bytes asked for. */
    bytes: number;
    /** Bytes that the machine has. */
    machine_bytes: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** Numbers of CPUs that this machine does not have were left out. */
  | {
    code: "cpus_left_out";
    /** The numbers of CPUs that are skipped. */
    asked: number[];
    /** The same as a sentence in English. */
    text: string;
  }
  /** The budget is split by role, so rows have unequal means. */
  | {
    code: "budget_split";
    /** Each role with its number of CPUs. */
    cpus: ([string, number])[];
    /** The same as a sentence in English. */
    text: string;
  }
  /** Stack and load share CPUs. */
  | {
    code: "cpus_shared";
    /** The same as a sentence in English. */
    text: string;
  }
  /** Stack and load run on hardware threads of the same core. */
  | {
    code: "cores_shared";
    /** The same as a sentence in English. */
    text: string;
  }
  /** The workers may not fit into the memory. */
  | {
    code: "workers_crowded";
    /** The runtime's name. */
    runtime: string;
    /** Number of workers. */
    workers: number;
    /** The least memory that these workers need. */
    least_bytes: number;
    /** The memory that is available. */
    memory_bytes: number;
    /** Whether that is the machine's memory. False: it is the stack's limit. */
    is_machine: boolean;
    /** The same as a sentence in English. */
    text: string;
  }
  /** Keep-alive is off for all runtimes, because one of them does not suit it. */
  | {
    code: "keep_alive_off";
    /** The load's name. */
    load: string;
    /** The name of that runtime. */
    runtime: string;
    /** The reason. */
    unfit: Unfit;
    /** The same as a sentence in English. */
    text: string;
  }
  /** URLs of other sites are requested from the app on this machine. */
  | {
    code: "other_sites";
    /** Hosts named in the request file. */
    sites: string[];
    /** The same as a sentence in English. */
    text: string;
  }
  /** The requests of a file are sent. */
  | RequestFile & {
    code: "request_file";
    /** The same as a sentence in English. */
    text: string;
  }
  /** Lengths and numbers of requests are multiplied by a factor. */
  | {
    code: "time_scale";
    /** The factor. */
    scale: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The demo's own app cannot run here, and another one is served. */
  | {
    code: "demo_app";
    /** The app that is served. */
    app: string;
    /** Why the demo's own cannot run. */
    cause: Cause;
    /** What the user can do, in English. Null: nothing helps. */
    todo: string | null;
    /** The same as a sentence in English. */
    text: string;
  }
  /** Each runtime is started once a round for all loads. */
  | {
    code: "start_shared";
    /** The names of the loads, in their order. */
    loads: string[];
    /** The same as a sentence in English. */
    text: string;
  }
  /**
   * An earlier run began later by the machine's clock, which was set back since. Runs are sorted by
   * the time of their start.
   */
  | {
    code: "clock_set_back";
    /** The name of the run that began last by the clock. */
    run: string;
    /** When it began, RFC 3339. */
    started_at: string;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The comparison cannot end within the time that was given. */
  | {
    code: "within_not_kept";
    /** The given time in nanoseconds. */
    within_ns: number;
    /**
     * How long it takes with loads of a second. Null: it fits by a guess alone, since a load ends
     * after a number of requests.
     */
    takes_ns: number | null;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The comparison was made as short as possible. */
  | {
    code: "first_impression";
    /** The same as a sentence in English. */
    text: string;
  }
  /** The rule by which `rounds: auto` stops. */
  | {
    code: "rounds_auto";
    /** The numbers of rounds after which it checks. */
    looks: number[];
    /** The width that every interval must be below, as a share, 0 … 1. */
    precision: number;
    /**
     * Time limit in nanoseconds: a round is not begun if it would end later than this after
     * the run's start.
     */
    max_time_ns: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** One check of `rounds: auto`. */
  | {
    code: "rounds_look";
    /** Why the run went on or stopped. */
    found: Look;
    /** The same as a sentence in English. */
    text: string;
  }
  /** A runtime is measured with its best number of workers. */
  | {
    code: "tuned";
    /** The runtime's name. */
    runtime: string;
    /** The number of workers. */
    workers: number;
    /** The directory of the tuning. */
    run: string;
    /** Whether the runtime was tuned only with the first of several apps. */
    first_app_alone: boolean;
    /** The same as a sentence in English. */
    text: string;
  }
  /** A runtime's best number of workers is not known. */
  | {
    code: "not_tuned";
    /** The runtime's name. */
    runtime: string;
    /** The reason. */
    why: NotTuned;
    /** The same as a sentence in English. */
    text: string;
  }
  /** Loads whose rate is a share of the baseline's peak were left out. */
  | {
    code: "no_peak";
    /** The baseline's name. */
    runtime: string;
    /** The names of the loads. */
    loads: string[];
    /** Why the baseline's peak is not known. */
    why: NoPeak;
    /** The same as a sentence in English. */
    text: string;
  }
  /** Something was noticed about an external runtime. */
  | {
    code: "external";
    /** The runtime's name. */
    runtime: string;
    /** What was noticed. */
    found: External;
    /** The same as a sentence in English. */
    text: string;
  }
  /** Something was noticed about a compose project. */
  | {
    code: "containers";
    /** The runtime's name. */
    runtime: string;
    /** What was noticed. */
    found: Containers;
    /** The same as a sentence in English. */
    text: string;
  }
  /** An external runtime is on another machine. */
  | {
    code: "external_on_another_machine";
    /** The runtime's name. */
    runtime: string;
    /** The host. */
    host: string;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The run has not ended yet. */
  | {
    code: "under_way";
    /** Number of planned trials. */
    planned: number;
    /** Number of trials that have ended. */
    ended: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The run was ended early. */
  | {
    code: "ended_early";
    /** Number of planned trials. */
    planned: number;
    /** Number of trials that had ended. */
    ended: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** A trial was not finished, and does not count. */
  | {
    code: "trial_unfinished";
    /** The name of the trial's directory. */
    trial: string;
    /** The same as a sentence in English. */
    text: string;
  }
  /** A stored file is damaged or cut off. */
  | {
    code: "damaged";
    /** Which file, and how. */
    damage: Damage;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The runs were measured at different times. */
  | {
    code: "between_runs";
    /** Whether the runs are compared. False: they are only shown together. */
    compared: boolean;
    /** The same as a sentence in English. */
    text: string;
  }
  /** A notice about one of several runs. */
  | {
    code: "of_run";
    /** The run's letter or name. */
    run: string;
    /** The notice about it. */
    notice?: Notice | null;
    /** The run's identity: when and with what it was measured. */
    measured?: Identity | null;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The machines of several runs differ. */
  | {
    code: "machines_differ";
    /** The parts that differ. */
    what: MachinePart[];
    /** The same as a sentence in English. */
    text: string;
  }
  /** The app's answers differ between two runs. */
  | {
    code: "answers_differ";
    /** The run with the other answers. */
    run: string;
    /** The runtimes whose app answered differently. */
    runtimes: string[];
    /** The same as a sentence in English. */
    text: string;
  }
  /** A sentence of a result of format 1, which had no codes. */
  | {
    code: "text";
    text: string;
  };

/** The reason why a runtime was left out of the choice. */
export type Unsuited =
  /** The runtime is not installed. */
  | {
    code: "not_installed";
  }
  /** The runtime serves only apps of other kinds. */
  | {
    code: "other_kinds";
    /** The kinds that it serves. */
    kinds: string[];
  }
  /**
   * The runtime keeps an app in memory, but stampede can only boot an app of this kind for each
   * request.
   */
  | {
    code: "not_kept";
    /** The app's kind. */
    kind: string;
  }
  /** The runtime keeps an app in memory, and the app lacks the file through which it is started. */
  | {
    code: "not_entered";
    /** The app's kind. */
    kind: string;
    /** The file that is missing. */
    file: string;
  }
  /** The app lacks packages that the runtime needs. */
  | {
    code: "packages_missing";
    /** The names of the packages. */
    packages: string[];
  }
  /** Something that the runtime needs cannot be used. */
  | {
    code: "unusable";
    /** The reason. */
    cause: Cause;
  };

/** An error: its code, its facts as further fields, and what it came of. */
export interface Cause {
  /** The stable code of the error. */
  code: string;
  /** The same as a sentence in English, without the source. */
  text: string;
  /**
   * What the user can do, in English. Left out: nothing is known that helps, or it is said
   * elsewhere.
   */
  todo: string | null;
  /** The error that caused this one. Left out: there is none. */
  source: Cause | null;
  [other: string]: unknown;
}

/** What was detected in a directory. */
export interface Detected {
  /** The framework. Null: none that is known. */
  framework: string | null;
  /** The framework's version. Null: not known. */
  version: string | null;
  /** How the app was recognised. */
  by: RecognisedBy;
  /** The kind that the app is served as. */
  kind: string;
  /** Whether the user gave that kind although another one was recognised. */
  kind_is_said: boolean;
  /** The document root, relative to the app's directory. `.`: the directory itself. */
  docroot: string;
  /**
   * Whether the directory above is a project, so that this directory may be only its public
   * part.
   */
  may_be_part: boolean;
  /** What the user should know besides. */
  notes?: DetectedNote[];
}

/** How an app was recognised. */
export type RecognisedBy =
  /** `composer.json` requires a package. */
  | {
    code: "requires";
    /** The package's name. */
    package: string;
  }
  /** The app has certain files. */
  | {
    code: "files";
    /** The files, relative to the app's directory. */
    files: string[];
  }
  /**
   * The app has files that other frameworks have too. The framework follows from their text, or
   * from its installed packages.
   */
  | {
    code: "files_of";
    /** The files, relative to the app's directory. */
    files: string[];
    /** The name of the recognised framework. */
    framework: string;
  }
  /** `composer.json` requires no known framework. */
  | {
    code: "no_framework";
  }
  /** There is no `composer.json`, and nothing else was recognised. */
  | {
    code: "nothing";
  };

/** Something about a directory that may make its app work otherwise than its user expects. */
export type DetectedNote =
  /** Composer has not installed what composer.json requires, and the app may work without it. */
  | {
    code: "not_installed";
    /** The file that Composer would have written. */
    autoload: string;
    /** The required packages. */
    packages: string[];
  }
  /** There are several public directories or front controllers. */
  | {
    code: "other_entries";
    /** The others, relative to the app's directory. */
    files: string[];
  }
  /** Paths that cannot be read are left out of the copy. */
  | {
    code: "unreadable";
    /** The paths, relative to the app's directory. */
    paths: string[];
  };

/** A line of a file that configures a web server or PHP for one directory. */
export interface DirectoryLine {
  /** The file, relative to the app's directory. */
  file: string;
  /** The number of the line, from 1. */
  line: number;
  /** What it says. */
  text: string;
  /** Why it is not applied. Null: in results of earlier versions. */
  why: LineReason | null;
  /** The web servers of the run that do not apply it, such as `nginx`. Empty: all. */
  not_by: string[];
}

/** Why a line is not applied. */
export type LineReason =
  /** It depends on something that only Apache knows here. */
  | "condition"
  /** A flag of the rule has no counterpart. */
  | "flag"
  /** What it leads to, or its value, is not understood. */
  | "target"
  /** Its regular expression is not understood, or not known to the server. */
  | "pattern"
  /** It stands in a section that is not understood. */
  | "section"
  /** It leads to another scheme or host. */
  | "other_host"
  /** It says which program handles files, which the runtime decides. */
  | "handler"
  /** It depends on who asks. */
  | "login"
  /** It refuses every request. */
  | "refuses_all"
  /** Only Apache has it. */
  | "apache_only"
  /** Only PHP in Apache has it. */
  | "mod_php_only"
  /** The server cannot do it. */
  | "server_lacks"
  /** Apache here lacks the module. */
  | "no_module"
  /** PHP takes it only from php.ini. */
  | "system_only"
  /** The plan or the measurement decides it. */
  | "plan_decides"
  /** It names a file outside of the app. */
  | "outside_app"
  /** It stands above the public directory. */
  | "above_public";

/** What the run's runtimes apply of an app's `.htaccess` and `.user.ini`. */
export interface DirectoryFiles {
  /** The app's name. */
  app: string;
  /** Number of rules that web servers apply. */
  rules: number;
  /** Number of settings of PHP that every runtime applies. */
  settings: number;
  /** Number of lines that some or all do not apply. */
  count: number;
  /** The first of them. */
  lines: DirectoryLine[];
  /** The runtimes of the run whose web server applies rules. */
  applied_by: string[];
  /** The runtimes of the run that apply no rules. */
  ignored_by: string[];
}

/** A setting of this machine. */
export interface HostSetting {
  /** The name as its file has it, such as `memory_limit` or `pm.max_children`. */
  name: string;
  /** The value; secrets are masked. */
  value: string;
  /** The file. Absent: no file sets it, so that it is what the program has by itself. */
  file?: string | null;
  /** The number of the line, from 1. */
  line?: number | null;
}

/** A setting with its limit. */
export interface LimitedSetting {
  /** The setting. */
  setting: HostSetting;
  /** Why it is not in force, or needs a word. */
  why: HostLimit;
}

/** Why a setting is not in force as on the machine, or needs a word. */
export type HostLimit =
  /** It is in force, and leads to a server that others use. */
  | "reached_for_real"
  /** The user of the stack cannot read the path. */
  | "not_readable"
  /** It names a variable of the server's environment. */
  | "not_known"
  /** stampede decides it for every runtime. */
  | "ours"
  /** The runtime has no place for it. */
  | "no_place";

/** The two versions of an app that are compared. */
export interface Versions {
  /** The revision as the user gave it. */
  rev: string;
  /** The commit of that revision. */
  commit: string;
  /** The commit of the working tree. Empty: it has none. */
  head: string;
  /** Number of uncommitted changes in the working tree. */
  changes: number;
  /** Paths that are not in git, and that both versions get from the working tree. */
  brought: string[];
  /** Submodules, which are empty in the copy of the revision. */
  submodules: string[];
}

/** The reason why keep-alive does not suit a runtime. */
export type Unfit =
  /** The runtime holds a worker per connection, so some connections would never get an answer. */
  | {
    code: "starves";
    /** Number of its workers. */
    workers: number;
    /** The most connections that there may be. */
    connections: number;
  }
  /**
   * The runtime closes every connection, so its times would include connecting and the others'
   * would not.
   */
  | {
    code: "closes";
  };

/** Entries of a request file that are not sent. */
export interface SkippedEntries {
  /** The reason. */
  why: Skip;
  /** Their number. */
  entries: number;
}

/** Why an entry that is well-formed is not sent. */
export type Skip =
  /** Its method is not asked for. */
  | {
    code: "method";
    /** The method. */
    method: string;
  }
  /** It is no request of HTTP. */
  | {
    code: "not_http";
  }
  /** It has no path. */
  | {
    code: "no_path";
  }
  /** It is another host's than the first. */
  | {
    code: "other_host";
    /** The first one's host. */
    host: string;
  }
  /** Its body is in base64. */
  | {
    code: "base64_body";
  }
  /** Its body comes in chunks, as it is on the connection. */
  | {
    code: "chunked";
  }
  /** A proxy was asked for a tunnel. */
  | {
    code: "connect";
  }
  /** The answer is a stream of events that does not end. */
  | {
    code: "event_stream";
  }
  /** It opens a web socket. */
  | {
    code: "web_socket";
  }
  /** Its URL has a scheme that is not HTTP's. */
  | {
    code: "scheme";
    /** The scheme. */
    scheme: string;
  }
  /** The file ends within it. */
  | {
    code: "cut_off";
  }
  /** A form sends a file whose content was not recorded. */
  | {
    code: "form_file";
    /** Name of the field. */
    field: string;
  }
  /** A file that it names cannot be read. */
  | {
    code: "file";
    /** The path, as it is written. */
    path: string;
  }
  /** A variable in it has no value. */
  | {
    code: "variable";
    /** Name of the variable. */
    name: string;
  }
  /** A way to sign in that needs a program. */
  | {
    code: "authentication";
    /** Name of the way. */
    kind: string;
  }
  /** A script of a collection, which would change requests or read answers. */
  | {
    code: "script";
    /** When it would run: `prerequest`, `test`. */
    when: string;
  }
  /** Its body is a file that it does not name. */
  | {
    code: "body_file_not_named";
  }
  /** Its body is of a kind that is not known, or cannot be made. */
  | {
    code: "body_kind";
    /** The kind, as it is written. */
    kind: string;
  }
  /** A part of it would be filled in by a shell. */
  | {
    code: "by_shell";
    /** The part. */
    part: string;
  }
  /** Its URL stands for several. */
  | {
    code: "url_pattern";
    /** The pattern. */
    pattern: string;
  }
  /** A required parameter has neither an example nor a default value. */
  | {
    code: "parameter";
    /** Name of the parameter. */
    name: string;
  }
  /** An option of curl that is not known. */
  | {
    code: "curl_option";
    /** The option. */
    option: string;
  }
  /** A list of other sitemaps. */
  | {
    code: "sitemap";
  }
  /** It is a line of an error log, among those of an access log. */
  | {
    code: "error_log";
  }
  /** It is a line of an access log's file, and says of no request that it was answered. */
  | {
    code: "not_logged";
  }
  /** Its answer is logged as an error, and such are not asked for. */
  | {
    code: "logged_status";
    /** First digit of the status. */
    class: number;
  }
  /** There are more reasons than are told apart. */
  | {
    code: "other";
  };

/** Entries of a request file that are no valid requests. */
export interface BrokenEntries {
  /** Their number. */
  entries: number;
  /** The line of the first one. */
  line: number;
  /** What is wrong with the first one. */
  error: EntryError;
}

/** What is wrong with an entry. Bytes of the file are cut short, and what is no text is escaped. */
export type EntryError =
  /** Above the limit of an entry. */
  | {
    code: "too_long";
    /** The limit. */
    limit_bytes: number;
  }
  /** A line of other bytes. */
  | {
    code: "not_utf8";
    /** The line. */
    line: string;
  }
  /** A length above the limit of an entry. */
  | {
    code: "length_too_large";
    /** As announced. */
    bytes: number;
  }
  /** The file ends within the entry. */
  | {
    code: "cut_short";
    /** As announced. */
    bytes: number;
    /** As there are. */
    read_bytes: number;
  }
  /** A whole request of HTTP, where FastCGI is spoken. */
  | {
    code: "whole_request";
  }
  /** Its parts make no request. */
  | {
    code: "no_request";
    /** What is wrong with them. */
    error: RequestError;
  }
  /** A line that announces no entry. */
  | {
    code: "not_announced";
    /** The line. */
    line: string;
    /** How an entry is announced. */
    expected: string;
  }
  /** Bytes that begin with no method. */
  | {
    code: "no_method";
    /** How many. */
    bytes: number;
    /** Their begin. */
    begins: string;
  }
  /** Headers without an end. */
  | {
    code: "headers_without_end";
    /** How many bytes there are. */
    bytes: number;
  }
  /** A line with more words than there may be. */
  | {
    code: "too_many_words";
    /** The line. */
    line: string;
  }
  /** A line in brackets that is no header. */
  | {
    code: "no_header";
    /** The line. */
    line: string;
  }
  /** What the reader of JSON says, and a column where it has one. */
  | {
    code: "json";
    /** Its words. */
    json_error: string;
    /** Where in its line, 1 for the first; null: the entry has several lines. */
    column: number | null;
  }
  /** An object lacks a member. */
  | {
    code: "member_missing";
    /** The member. */
    name: string;
  }
  /** Another byte of JSON was expected. */
  | {
    code: "unexpected";
    /** One of these. */
    expected: string[];
    /** What is there; null: it is not known, or the file ends. */
    found: string | null;
  }
  /** The file ends within an entry. */
  | {
    code: "file_ends";
    /** What was expected. */
    expected: string;
  }
  /** A document that its format's reader refuses. */
  | {
    code: "document";
    /** Name of the format: `YAML`, `XML`. */
    format: string;
    /** What the reader says. */
    problem: string;
  }
  /** A quote of a command is not closed before the end of the file. */
  | {
    code: "quote_open";
  }
  /** A body that is announced as base64 and is not. */
  | {
    code: "not_base64";
  };

/** What cannot be made into a request. */
export type RequestError =
  /** Not a token (RFC 9110 section 5.6.2). */
  | {
    code: "method";
    /** As given, what is no text escaped. */
    method: string;
  }
  /** Neither `/…` nor `*`, or with a space or a control character in it. */
  | {
    code: "path";
    /** As given, what is no text escaped. */
    path: string;
  }
  /** Not a token. */
  | {
    code: "header_name";
    /** As given, what is no text escaped. */
    name: string;
  }
  /** With a CR, LF or NUL, which would end the header and begin another. */
  | {
    code: "header_value";
    /** Of which header. */
    name: string;
    /** With the offending characters escaped. */
    value: string;
  }
  /** Contradicts the body. */
  | {
    code: "content_length";
    /** As given. */
    given: string;
    /** As it is. */
    body_bytes: number;
  };

/** A part of another tool's script that is not taken over. */
export interface LeftOutPart {
  /** What it is, in English. */
  what: string;
  /** Its lines, counted from 1. */
  lines: number[];
  /** What happens instead, in English. */
  instead: string;
}

/** A request file whose requests are sent, and what was not taken of it. */
export interface RequestFile {
  /** Path of the file. */
  file: string;
  /** Name of its format. */
  format: string;
  /** Number of requests in it that can be sent. */
  requests: number;
  /** Number of requests that are sent in turn. */
  sent: number;
  /** Every how many requests one is sent. 1: all of them are. */
  every: number;
  /** Entries that are not sent, by reason. */
  skipped?: SkippedEntries[];
  /** Entries that are no valid requests. Null: there are none. */
  broken?: BrokenEntries | null;
  /** Parts of a script of another tool that are not taken over. */
  left_out?: LeftOutPart[];
}

/** What a look of `rounds: auto` found. */
export type Look =
  /** Every interval is narrow enough: the run ends. */
  | {
    code: "precise_enough";
    /** Number of rounds so far. */
    rounds: number;
    /** The widest interval. */
    widest: Widest;
    /** The same as a sentence in English. */
    text: string;
  }
  /** An interval is too wide: the run goes on. */
  | {
    code: "more_rounds";
    /** Number of rounds so far. */
    rounds: number;
    /** Number of rounds after which the next check is. */
    next: number;
    /** The widest interval. */
    widest: Widest;
    /** The same as a sentence in English. */
    text: string;
  }
  /** An interval is wide, but the run ends: more rounds would hardly make it narrower. */
  | {
    code: "rounds_over";
    /** Number of rounds so far. */
    rounds: number;
    /** The widest interval. */
    widest: Widest;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The run ends because the next round would end too late. */
  | {
    code: "time_over";
    /** Number of rounds so far. */
    rounds: number;
    /** Expected length of the next round, in nanoseconds. */
    next_round_ns: number;
    /** The run's `max_time`, in nanoseconds. */
    max_time_ns: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** A sentence of a result of format 1, which had no codes. */
  | {
    code: "text";
    text: string;
  };

/** The widest of the intervals that must become narrow. */
export interface Widest {
  /**
   * The value that the interval is of. Null: no figure has an interval that more rounds would
   * make narrower.
   */
  of: IntervalOf | null;
  /**
   * The interval's width as a share of the value. Null: there are too few rounds for an
   * interval.
   */
  width_share: number | null;
  /** The width that the plan asks for, as a share. */
  precision_share: number;
}

/** The value that an interval is of. */
export type IntervalOf =
  /** A row's own figure. */
  | {
    kind: "figure";
    /** The figure. */
    figure: Primary;
    /** The row's runtime. */
    runtime: string;
  }
  /** The ratio of a row to the baseline. */
  | {
    kind: "ratio";
    /** The row's runtime. */
    runtime: string;
    /** The baseline. */
    baseline: string;
  };

/** The figure that cases are sorted and compared by. */
export type Primary =
  /** p95 of the response time, for the open model. */
  | "response_time_p95"
  /** Median of the response time, if a trial has too few requests for a p95. */
  | "response_time_p50"
  /** Mean of the response time, if there are too few requests even for a median. */
  | "response_time_mean"
  /** Correct answers per second, for the closed model. */
  | "throughput";

/** The reason why the best number of workers is not known. */
export type NotTuned =
  /** The runtime was refused, so it was not measured. */
  | {
    code: "refused";
    /** The reason. */
    reason: Record<string, unknown>;
  }
  /** The runtime has no number of workers that can be chosen. */
  | {
    code: "no_number";
  }
  /** The search found no best number. */
  | {
    code: "not_found";
    /** What the search found instead. */
    result: Record<string, unknown>;
  };

/** The reason why a peak is not known. */
export type NoPeak =
  /** The runtime was refused, so it was not measured. */
  | {
    cause: "refused";
    /** The reason. */
    reason: Reason;
  }
  /** The peak's trial was not valid. */
  | {
    cause: "invalid";
    /** The reasons. Empty: there was no correct answer. */
    reasons: Reason[];
  };

/** Why a result counts or does not, or what is worth knowing of it. */
export type Reason =
  /**
   * The generator started requests later than scheduled, and that shows in response times. Open
   * model only.
   */
  | {
    code: "generator_lag";
    /**
     * The figures of response time of which the generator's delay makes more than 5 % and
     * 20 µs. Those that are printed only, such as the maximum, are left out.
     */
    figures: LagMark[];
    /** The same as a sentence in English. */
    text: string;
  }
  /** The generator did not send all requests although connections were free. */
  | {
    code: "generator_short";
    /** Sent ÷ planned requests, 0 … 1. */
    sent_share: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** A load thread of an open load was so busy that its own queueing affects the times. */
  | {
    code: "generator_busy";
    /** The share of its time that the busiest thread was busy, 0 … 1. */
    busy_share: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The generator limited a closed load: the runtime might have served more. */
  | {
    code: "generator_limit";
    /** Correct answers per second. */
    rate_per_s: number;
    /** The share of its time that the busiest thread was busy, 0 … 1. */
    busy_share: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** A CPU quota stopped the generator at times. */
  | {
    code: "generator_throttled";
    /** For how long, in nanoseconds. */
    throttled_ns: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** Little's law does not hold for stampede's own counts: a bug of stampede. */
  | {
    code: "bookkeeping_off";
    /** Integrated gauge of requests in flight ÷ (requests started × mean service time). */
    littles_law_ratio: number;
    /** Mean number of requests in flight by the gauge. Null: not known. */
    in_flight_mean?: number | null;
    /** The same number by Little's law: throughput × mean service time. Null: not known. */
    in_flight_expected?: number | null;
    /** The same as a sentence in English. */
    text: string;
  }
  /** Requests took longer than an hour and count as one hour. */
  | {
    code: "times_clipped";
    /** Number of such requests. */
    requests: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** Rows of single requests are missing, because the disk was too slow. */
  | {
    code: "records_lost";
    /** Number of missing rows. */
    requests: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** An agent was lost during the load, so only a part of the load was sent. */
  | {
    code: "agent_lost";
    /** Name of the agent. */
    agent: string;
    /** What happened to it. */
    loss: Loss;
    /** The same as a sentence in English. */
    text: string;
  }
  /**
   * The requests of an agent do not add up. A bug of stampede, or something else that answers
   * for an agent.
   */
  | {
    code: "agent_miscounted";
    /** Name of the agent. */
    agent: string;
    /** Requests that it says were due. */
    planned: number;
    /** Requests of its part of the schedule. Null: the load has no such number. */
    expected: number | null;
    /** The same as a sentence in English. */
    text: string;
  }
  /**
   * Agents that send the same requests to the same server see different service times: a bad
   * machine, or a bad way to the server.
   */
  | {
    code: "agents_differ";
    /** The agent with the longest median. */
    slowest: string;
    /** Its median service time in nanoseconds. */
    slowest_median_ns: number;
    /** The agent with the shortest median. */
    fastest: string;
    /** Its median service time in nanoseconds. */
    fastest_median_ns: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** It is not known well enough when an agent started. */
  | {
    code: "agent_start";
    /** Name of the agent. */
    agent: string;
    /** How far its start may have been from the common one, in nanoseconds. */
    error_ns: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The machine of an agent disturbed it. */
  | {
    code: "agent_machine";
    /** Name of the agent. */
    agent: string;
    /** The share of its CPU time that its host took away, 0 … 1. Null: too little to tell. */
    steal_share: number | null;
    /** For how long a CPU quota held it back, in nanoseconds. Null: not at all. */
    throttled_ns: number | null;
    /** The name of its clock source, if that is slow to read. Null: it is fast. */
    slow_clock: string | null;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The load generator could not run. */
  | {
    code: "load_failed";
    /** The reason. */
    cause: Cause;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The kernel reads the clock with a system call, which is slow. */
  | {
    code: "slow_clock";
    /** The name of the clock source. */
    source: string;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The host of this virtual machine took CPU time away (steal). */
  | {
    code: "steal";
    /** The share of all CPU time, 0 … 1. */
    share: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** A CPU quota stopped the stack's processes at times. */
  | {
    code: "throttled";
    /** For how long, in nanoseconds. */
    throttled_ns: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The kernel ended processes of the stack because memory ran out. */
  | {
    code: "out_of_memory";
    /** Number of processes. */
    kills: number;
    /** Memory limit of the whole stack. 0: no limit. */
    limit_bytes: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The stack's memory was full. */
  | {
    code: "memory_full";
    /** The most memory that was in use. */
    peak_bytes: number;
    /** Memory limit of the whole stack. */
    limit_bytes: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The memory limit that was asked for is not in force. */
  | {
    code: "memory_limit_missing";
    /** The limit that was asked for. */
    limit_bytes: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The kernel does not show the memory of the stack's processes, nor what its workers do. */
  | {
    code: "processes_hidden";
    /** The same as a sentence in English. */
    text: string;
  }
  /** The CPU quota that was asked for is not in force. */
  | {
    code: "cpu_quota_missing";
    /** CPUs of the budget. */
    cpus: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** One address does not have enough ports for this many connections. */
  | {
    code: "ports_exhausted";
    /** Number of local addresses that connections came from, starting at 127.0.0.1. */
    addresses: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** Processes that belong neither to the stack nor to stampede used CPU time while no CPU was idle. */
  | {
    code: "other_processes";
    /** What they used while none of the CPUs was idle, in CPUs on average over the whole load. */
    cpus: number;
    /** CPUs that the stack and stampede may run on. */
    cpus_allowed: number;
    /** The largest of them, over the whole load, also while a CPU was idle. */
    largest: ProcessCpus[];
    /** The same as a sentence in English. */
    text: string;
  }
  /** Databases or caches that are not part of the stack used CPU time. */
  | {
    code: "services_outside";
    /** The services, the largest first. */
    services: ProcessCpus[];
    /** CPUs that the stack and stampede may run on. */
    cpus_allowed: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The runtime could not be started, checked or stopped. */
  | {
    code: "runtime_failed";
    /** The reason, with the last lines of its logs. */
    cause: Cause;
    /** The same as a sentence in English. */
    text: string;
  }
  /** Pages of the load return an error, already before the load. */
  | {
    code: "page_fails";
    /** Number of such pages. */
    count: number;
    /** The first of them. */
    pages: PageRecord[];
    /** The last lines of the logs, one per line. */
    log: string;
    /** The same as a sentence in English. */
    text: string;
  }
  /**
   * The pages of the load redirect, already before the load. Some may also fail with a client
   * error.
   */
  | {
    code: "page_redirects";
    /** Number of pages that were requested. */
    count: number;
    /** The first of them. */
    pages: PageRecord[];
    /**
     * Where the redirects of the app's own page end. Null: it was not requested, or does not
     * redirect.
     */
    followed: FollowedRedirects | null;
    /** A page with more redirects than a client follows. Null: there is none. */
    endless: RedirectLoop | null;
    /** The same as a sentence in English. */
    text: string;
  }
  /** PHP ended with a fatal error before the load. */
  | {
    code: "php_error_before_load";
    /** The error's line in the log. */
    first: string;
    /** The same as a sentence in English. */
    text: string;
  }
  /** PHP ended with fatal errors under the load. */
  | {
    code: "php_errors";
    /** Number of lines in the log. */
    lines: number;
    /**
     * How many of these ended a request that counts as failed, because its status was 500. The
     * others were answered as if they were right. 0 also in results of earlier versions.
     */
    failed: number;
    /** The first line. */
    first: string;
    /** The same as a sentence in English. */
    text: string;
  }
  /** PHP logged warnings, notices or deprecations under the load. */
  | {
    code: "php_messages";
    /** Number of messages. */
    messages: number;
    /** Number of messages for each request. */
    per_request: number;
    /** The first message. */
    first: string;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The app sent mail, which did not leave the machine. */
  | {
    code: "mail_caught";
    /** Number of mails during the load. */
    mails: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** Requests waited for the lock of their PHP session. */
  | {
    code: "session_lock";
    /** Number of looks at the server during the load. */
    looks: number;
    /** Number of looks at which a request waited. */
    waiting: number;
    /** The most requests that waited at one look. */
    requests_max: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** Whether requests waited for their session cannot be seen. */
  | {
    code: "sessions_unseen";
    /** The same as a sentence in English. */
    text: string;
  }
  /** The app, or the web server, was not allowed to use a file. */
  | {
    code: "permission_denied";
    /** Number of lines in the log. */
    lines: number;
    /** The first paths, those of the app relative to its directory. Empty: no line has one. */
    paths: string[];
    /** The same as a sentence in English. */
    text: string;
  }
  /** The disk of the runtime's working directory had no space left. */
  | {
    code: "disk_full";
    /** Where its file system is mounted. */
    at: string;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The runtime is gone. */
  | {
    code: "runtime_gone";
    /** How that was noticed. */
    cause: Cause;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The runtime could not be checked after the load. */
  | {
    code: "failed_after_load";
    /** The reason. */
    cause: Cause;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The runtime's observed properties changed during the load. */
  | {
    code: "changed_under_load";
    /** The property that changed. */
    difference: Mismatch;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The app's answer changed during the load. */
  | {
    code: "answer_changed";
    /** The first line that differs. */
    shown?: string | null;
    /** The same as a sentence in English. */
    text: string;
  }
  /** Only numbers in the app's answer changed during the load. */
  | {
    code: "answer_numbers_changed";
    /** The first line that differs. */
    shown: string;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The runtime has another number of workers than was asked for. */
  | {
    code: "workers_differ";
    /** The number that was observed. */
    workers: number;
    /** The number that was asked for. */
    asked: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** A process of the stack ended by itself. */
  | {
    code: "process_ended";
    /** The role of the process. */
    role: string;
    /** The signal that ended it. Null: none did. */
    signal: number | null;
    /** The exit code. Null: there is none. */
    exit_code: number | null;
    /** Whether it ended before the load. */
    is_before_load: boolean;
    /** The same as a sentence in English. */
    text: string;
  }
  /** Processes or worker threads were started under load. */
  | {
    code: "workers_replaced";
    /** Number of them. */
    started: number;
    /** Whether they are threads. False: processes. */
    threads: boolean;
    /** Whether the setting `max_requests` asks for that. */
    is_asked: boolean;
    /** Log lines from that time. */
    log: string[];
    /** The same as a sentence in English. */
    text: string;
  }
  /**
   * The stack's log lines could not be understood. Only records of earlier versions have it: what
   * log lines mean is read with the runtime.
   */
  | {
    code: "log_unreadable";
    /** The reason. */
    cause: Cause;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The runtime had no request before the load. */
  | {
    code: "cold";
    /** What OPcache held. Null: OPcache is off, or was not observed. */
    opcache: ColdOpcache | null;
    /** Directories that were emptied before the start. */
    emptied: string[];
    /** The same as a sentence in English. */
    text: string;
  }
  /** A cold start was asked for, but the runtime was already running. */
  | {
    code: "not_cold";
    /** The same as a sentence in English. */
    text: string;
  }
  /** OPcache preloaded files. */
  | {
    code: "preloaded";
    /** Number of files. */
    files: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** Preloading was asked for, but nothing is preloaded. */
  | {
    code: "nothing_preloaded";
    /** The file that was asked for. */
    preload: string;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The row is not measured at all. */
  | {
    code: "skipped";
    /** The reason. */
    cause: Cause;
    /** What the user can do, in English. Null: nothing helps. */
    todo: string | null;
    /** The same as a sentence in English. */
    text: string;
  }
  /** Keep-alive does not suit this runtime. */
  | {
    code: "keep_alive_unfit";
    /** The reason. */
    unfit: Unfit;
    /** The same as a sentence in English. */
    text: string;
  }
  /** No trial was finished. */
  | {
    code: "no_trial";
    /** The same as a sentence in English. */
    text: string;
  }
  /** Requests failed in one way. */
  | {
    code: "requests_failed";
    /** The kind of failure, as in `counts`. */
    kind: string;
    /** Number of requests. */
    requests: number;
    /** Method and path of the first of them, cut where they are long. */
    first: string;
    /** What the first of them got instead of a correct answer. */
    found: string;
    /** The same as a sentence in English. */
    text: string;
  }
  /** Correct answers had a body of another length than before the load. */
  | {
    code: "unusual_lengths";
    /** Number of such answers. */
    answers: number;
    /** Number of all correct answers. */
    correct: number;
    /** Method and path of the first of them, cut where they are long. */
    first: string;
    /** Bytes of its body. */
    body_bytes: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The load was stopped before its end. */
  | {
    code: "stopped";
    /** How long the load ran, in nanoseconds. */
    lasted_ns: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The user ended the trial before its load. */
  | {
    code: "interrupted";
    /** The same as a sentence in English. */
    text: string;
  }
  /** No request was answered. */
  | {
    code: "no_answer";
    /** Failures by kind, as in `counts`. */
    failed: Record<string, number>;
    /** The same as a sentence in English. */
    text: string;
  }
  /** Every request was redirected. */
  | {
    code: "all_redirected";
    /** Failures by kind, as in `counts`. */
    failed: Record<string, number>;
    /** The same as a sentence in English. */
    text: string;
  }
  /** Some connections got no answer during the whole trial, while others did. */
  | {
    code: "connections_starved";
    /** Number of such connections. */
    connections: number;
    /** Number of connections that were opened. */
    opened: number;
    /** The most frequent failure on them. Left out if it was a timeout, or if nothing failed. */
    failure?: Failure | null;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The server closed kept-alive connections just when a request was sent on them. */
  | {
    code: "connections_closed";
    /** Number of requests that failed for this reason. */
    requests: number;
    /** When the server closes kept connections. Left out if that is not known. */
    limit?: KeptLimit | null;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The server closed every connection after its answer, although keep-alive was asked for. */
  | {
    code: "connections_not_kept";
    /** The same as a sentence in English. */
    text: string;
  }
  /** Connecting took a second or more: a listen queue was full, or a packet was lost. */
  | {
    code: "slow_connects";
    /** Number of such connections. */
    connections: number;
    /** Number of connections that were opened. */
    opened: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** Answers have headers that a strict client refuses. */
  | {
    code: "odd_headers";
    /**
     * `folded`, `blank-before-colon`, `no-field`, `empty-first`, `bare-lf`, `identity`,
     * `repeated-length` or `status-line`.
     */
    kind: string;
    /** Number of answers. */
    answers: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** Answers were followed by bytes beyond their end. */
  | {
    code: "bytes_after_answers";
    /** Number of answers. */
    answers: number;
    /** Number of requests that failed because such bytes came in place of their own answer. */
    requests: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** PHP wrote to FastCGI's error stream. */
  | {
    code: "fastcgi_error_stream";
    /** Number of bytes. */
    bytes: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The page redirects to another one. */
  | {
    code: "redirected";
    /** The path that was requested. */
    from: string;
    /** HTTP status of the first redirect. */
    status: number;
    /** The path at which the redirects end. */
    to: string;
    /** Whether the load requests the page at which the redirects end. */
    is_followed: boolean;
    /** The same as a sentence in English. */
    text: string;
  }
  /** Somebody logged in before the load. */
  | {
    code: "logged_in";
    /** The path of the page with the form. */
    path: string;
    /** How often: the sessions took turns with the requests. */
    times: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** Not all requests were sent before the load and compared between runtimes. */
  | {
    code: "pages_not_compared";
    /** Number of requests of the load. */
    requests: number;
    /** Number of them that were compared. */
    compared: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The number of queries that reached the database. */
  | Queries & {
    code: "database_queries";
    /** The same as a sentence in English. */
    text: string;
  }
  /** The database does not report how many queries reached it. */
  | {
    code: "database_queries_unknown";
    /** The reason. */
    cause: Cause;
    /** The same as a sentence in English. */
    text: string;
  }
  /** An expectation was not met, or cannot be judged. */
  | {
    code: "not_met";
    /** The expectation as written: `p95 < 100ms`. */
    expectation: string;
    /** The figure that was found. Null: not known. */
    found: FoundFigure | null;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The server did not keep up with the target rate. */
  | {
    code: "fell_behind";
    /** The reason. */
    why: Behind;
    /** The same as a sentence in English. */
    text: string;
  }
  /** There was no correct answer, or nothing was sent. */
  | Nothing & {
    code: "nothing_correct";
    /** The same as a sentence in English. */
    text: string;
  }
  /** The requests ended before the schedule. */
  | {
    code: "requests_over";
    /** Number of requests. */
    requests: number;
    /** How long they lasted, in nanoseconds. */
    after_ns: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The request file could not be read to its end. */
  | {
    code: "request_file_failed";
    /** The reason. */
    failure: ReadFailure;
    /** The same as a sentence in English. */
    text: string;
  }
  /** Some entries of the request file are not valid requests. */
  | {
    code: "request_file_broken";
    /** Number of such entries. */
    entries: number;
    /** Line of the first such entry, counted from 1. */
    line: number;
    /** The error in the first such entry. */
    error: EntryError;
    /** The same as a sentence in English. */
    text: string;
  }
  /** Entries of the request file were left out. */
  | {
    code: "request_file_skipped";
    /** Number of such entries. */
    entries: number;
    /** The reason. */
    why: Skip;
    /** The same as a sentence in English. */
    text: string;
  }
  /** A header that no client can send was left out of requests of the request file. */
  | {
    code: "request_file_header";
    /** Name of the header. */
    name: string;
    /** Number of requests. */
    requests: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** URLs of the request file name other hosts. */
  | {
    code: "request_file_other_host";
    /** One of these hosts. */
    host: string;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The request file was shuffled in blocks, not as a whole. */
  | {
    code: "request_file_shuffled";
    /** Number of requests in a block. */
    within: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** Something was noticed before the first request. */
  | {
    code: "before_load";
    /** What was noticed. */
    found: Before;
    /** The same as a sentence in English. */
    text: string;
  }
  /** A sentence of a result of format 1, which had no codes. */
  | {
    code: "text";
    text: string;
  };

/** Why the results of an agent are not complete. */
export type Loss =
  /** Nothing came from it for so long. */
  | {
    how: "silent";
    /** Milliseconds without a word. */
    for_ms: number;
  }
  /** Its connection was closed. */
  | {
    how: "closed";
    /** What the program that carried the connection said last; empty: nothing. */
    said: string;
  }
  /** It said that it could not go on. */
  | {
    how: "failed";
    /** What it said. */
    message: string;
  }
  /** It said something that no agent says at that point. */
  | {
    how: "disorder";
  };

/** What processes of one name used. */
export interface ProcessCpus {
  /** The name that the kernel has for them. */
  name: string;
  /** CPUs on average: CPU time by time. */
  cpus: number;
}

/** The answer to a request, reduced to what should be the same on every runtime. */
export interface PageRecord {
  /** Path and query, with secrets masked. */
  path: string;
  /** Host name that the request had; absent: `localhost`. */
  host?: string | null;
  /** HTTP status; 0: no answer came. */
  status: number;
  /** Target of a redirect, as the header has it, with secrets masked. */
  location?: string | null;
  /** Title of the page, else its first line; at most 120 characters. */
  title: string;
  /** Length of the body. */
  bytes: number;
  /** Lengths of the body when the page was requested again, where it changed. */
  bytes_again?: number[];
  /** Whether the page differed when it was requested again, or may differ. */
  changes: boolean;
  /** Whether its title differed. */
  title_changes: boolean;
  /** PHP error at the end of the page. The status may be 200 all the same. */
  php_error?: string | null;
  /**
   * Whether the app answers a path that does not exist with the same page: it may be the home page
   * in place of the page that is meant.
   */
  as_unknown?: boolean;
  /** Whether a form of the page asks for a password: it may be the login in place of the page. */
  asks_for_password?: boolean;
  /**
   * SHA-256 of the page's text, in hexadecimal digits: of the headers that an app means and of the
   * body, without what differs by time and place. Empty: an earlier version wrote the record.
   */
  text_sha256?: string;
}

/** Redirects that were followed to their end. */
export interface FollowedRedirects {
  /** Path that was asked. */
  from: string;
  /** HTTP status of the first. */
  status: number;
  /** Path where they led. */
  to: string;
}

/** More redirects than anybody follows. */
export interface RedirectLoop {
  /** The first of them. */
  first: Redirect;
  /** Path of the last that was followed. */
  last: string;
}

/** One redirect. */
export interface Redirect {
  /** Path that was asked. */
  from: string;
  /** HTTP status. */
  status: number;
  /** Header `Location` as it came. */
  location: string;
}

/** A reason why a runtime's figures may not be compared with the others'. */
export type Mismatch =
  /** The runtime was already running: stampede set neither its CPUs nor its settings. */
  | {
    code: "already_running";
  }
  /** Each of its containers has the budget for itself, and other rows share one. */
  | {
    code: "own_limits";
  }
  /** Nothing limits the memory of its containers, nor fractions of a CPU, and other rows have the budget. */
  | {
    code: "limits_missing";
  }
  /** Requests reach it by a proxy of the container engine, and other rows without one. */
  | {
    code: "through_a_proxy";
  }
  /** The runtime has another number of workers than was asked for. */
  | {
    code: "workers_differ";
    /** The number that was observed. */
    workers: number;
    /** The number that was asked for. */
    asked: number;
  }
  /** The number of workers changed during the load. */
  | {
    code: "workers_changed";
    /** The number after the load. */
    workers: number;
    /** The number before the load. */
    before: number;
  }
  /** The workers are threads, and the runtime's PHP is not thread-safe. */
  | {
    code: "not_thread_safe";
  }
  /** State of one request is visible in a later one. */
  | {
    code: "not_isolated";
    /** The kinds of state. Empty: it is not known that requests are isolated. */
    leaks: string[];
  }
  /** The app's page differs from the page of the other runtimes. */
  | {
    code: "answer_differs";
    /** The first line that differs. */
    shown?: string | null;
  }
  /** A page of the load differs from the page of the other runtimes. */
  | {
    code: "page_differs";
    /** The page of this runtime. */
    page: PageRecord;
    /** The page of the other runtimes. */
    reference: PageRecord;
    /**
     * The first lines that differ: `- ` those of the other runtimes, `+ ` those of this one. Secrets
     * are masked. Empty: they are not known.
     */
    lines?: string[];
  }
  /** Further pages of the load differ. */
  | {
    code: "more_pages_differ";
    /** Number of further pages. */
    pages: number;
  }
  /** The runtime was measured at another path, to which its redirects led. */
  | {
    code: "path_differs";
    /** The path of this runtime. */
    path: string;
    /** The path of the other runtimes. */
    reference: string;
  }
  /** The mean size of the answers under load differs. */
  | {
    code: "body_size_differs";
    /** The mean of this runtime, in bytes. */
    mean_bytes: number;
    /** The reference's mean, in bytes. */
    reference_bytes: number;
  }
  /** The PHP version differs. */
  | {
    code: "php_version_differs";
    /** The version of this runtime. */
    version: string;
    /** The reference's version. */
    reference: string;
  }
  /** OPcache is on in this runtime and off in the reference, or the other way round. */
  | {
    code: "opcache_differs";
    /** Whether OPcache is on in this runtime. */
    on: boolean;
  }
  /** JIT is on in this runtime and off in the reference, or the other way round. */
  | {
    code: "jit_differs";
    /** Whether JIT is on in this runtime. */
    on: boolean;
  }
  /** Values of php.ini differ. */
  | {
    code: "ini_differs";
    /** The values that differ. */
    values: IniValue[];
  }
  /** The loaded extensions differ. */
  | {
    code: "extensions_differ";
    /** The extensions that differ. */
    extensions: Extension[];
  }
  /** PHP has other values of php.ini than the plan asks for. */
  | {
    code: "ini_not_taken";
    /** The values; the reference is what was asked for. */
    values: IniValue[];
  }
  /** It is not known which PHP serves, so nothing of it can be compared. */
  | {
    code: "php_unproven";
    /** The reason. */
    why: Unproven;
  };

/** A value of php.ini. */
export interface IniValue {
  /**
   * The directive's name, or a pattern that ends in `*`. (A field named `key` would be taken for
   * a secret's name.)
   */
  directive: string;
  /** The value in this runtime. Null: it has none. */
  value: string | null;
  /** The reference's value. Null: it has none. */
  reference: string | null;
}

/** A PHP extension. */
export interface Extension {
  /** The extension's name in lower case. */
  name: string;
  /** Whether this runtime has it and the reference does not. False: the other way round. */
  is_loaded: boolean;
}

/** Why it is not known which PHP serves a project. */
export type Unproven =
  /** No PHP of the project has read the file that asks it. */
  | {
    code: "silent";
  }
  /** With the file that asks PHP the project does not serve its page. */
  | {
    code: "not_served";
  }
  /** PHP runs in several services, and none of them answers the page's request itself. */
  | {
    code: "several";
    /** The services. */
    services: string[];
  }
  /** The measured start is not the one on which PHP was asked. */
  | {
    code: "other_start";
    /** What differs, at least one thing. */
    differences: StartDifference[];
  };

/** What differs between the start on which PHP was asked and a measured one. */
export type StartDifference =
  /** The image of a service. */
  | {
    code: "image";
    /** The service. */
    service: string;
  }
  /** A file of php.ini. */
  | {
    code: "ini_file";
    /** Its path in the container. */
    file: string;
  }
  /** A program runs in only one of the two. */
  | {
    code: "program";
    /** The service. */
    service: string;
    /** The program's path in the container. */
    program: string;
    /** Whether it runs in the measured start. */
    is_measured: boolean;
  };

/** What a cold OPcache held when the load began. */
export type ColdOpcache =
  /** It was empty. */
  | "empty"
  /** It held the preloaded files. */
  | "preloaded"
  /** It held the files that the workers load at boot. */
  | "booted";

/** Requests that failed in the same way. */
export interface Failure {
  /** The kind of failure, as in `counts`. */
  kind: string;
  /** Number of requests. */
  requests: number;
}

/** When a server closes kept connections, as far as failed requests show it. */
export type KeptLimit =
  /** After this many answers. */
  | {
    code: "answers";
    /** Number of answers on each connection that was closed. */
    answers: number;
  }
  /** After some idle time, between both of these. */
  | {
    code: "idle";
    /** Longest idle time after which a connection still answered, in nanoseconds; 0: none did. */
    answered_ns: number;
    /** Shortest idle time after which a connection was closed, in nanoseconds. */
    closed_ns: number;
  };

/**
 * The number of queries that reached the database, and the number that the answers should have
 * needed.
 */
export interface Queries {
  /** The number of queries that the database counted. */
  reached: number;
  /** The smallest expected number. */
  expected_min: number;
  /** The largest expected number. Null: there is no upper limit. */
  expected_max: number | null;
  /**
   * SQLite runs inside the app, and nothing was counted: the app must declare that it counts its
   * queries.
   */
  may_be_uncounted: boolean;
}

/** What was found of a figure that is expected otherwise. */
export type FoundFigure =
  /** A request without a correct answer is at this rank. */
  | {
    code: "failed";
    /** The same as a sentence in English. */
    text: string;
  }
  /** The value is known. */
  | {
    code: "value";
    /** The value, in this unit. */
    value: number;
    /** The unit. */
    unit: FigureUnit;
    /** The same as a sentence in English. */
    text: string;
  }
  /** Only a lower bound of the value is known. */
  | {
    code: "at_least";
    /** The bound, in this unit. */
    value: number;
    /** The unit. */
    unit: FigureUnit;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The figure changed from another version or run. */
  | {
    code: "change";
    /**
     * Whether the change is shown to break the expectation. False: the expectation is not
     * shown to hold.
     */
    is_shown: boolean;
    /** By how much the figure changed. */
    found: ChangeFound;
    /** The same as a sentence in English. */
    text: string;
  }
  /** A sentence of a result of format 1, which had no codes. */
  | {
    code: "text";
    text: string;
  };

/** The unit of a figure. */
export type FigureUnit =
  /** Nanoseconds. */
  | "ns"
  /** A share, 0 to 1. */
  | "share"
  /** A rate per second. */
  | "per_second"
  /** Bytes. */
  | "bytes";

/** By how much a figure changed, for an expectation about a change. */
export type ChangeFound =
  /** By this much. */
  | {
    code: "worse_by";
    /** The figure, as expectations name it. */
    figure: string;
    /** What `worse` and `interval` count. */
    unit: ChangeUnit;
    /** The share by which the other side is worse: 0.05 is 5 %; negative: better. */
    worse: number;
    /** Its 95 % interval; absent below three trials. */
    interval?: [number, number] | null;
    /**
     * About how many rounds would show that the expectation holds; absent: it is decided, or
     * no sensible number would.
     */
    rounds_needed?: number | null;
    /** The same as a sentence in English. */
    text: string;
  }
  /** Nothing can be said. */
  | {
    code: "no_change_known";
    /** Why not. */
    why: NoChange;
    /** The same as a sentence in English. */
    text: string;
  }
  /** A sentence of a result of format 1, which had no codes. */
  | {
    code: "text";
    text: string;
  };

/** What a change is counted in. */
export type ChangeUnit =
  /** A share of the base's value. */
  | "share"
  /** A difference of two shares: percentage points ÷ 100. */
  | "points";

/** Why nothing can be said of a figure's change. */
export type NoChange =
  /** One side has no trial that counts. */
  | {
    code: "no_counted_trial";
    /** Label of that side. */
    side: string;
    /** The same as a sentence in English. */
    text: string;
  }
  /** Of one side only a lower bound is known. */
  | {
    code: "lower_bound";
    /** Label of that side. */
    side: string;
    /** The same as a sentence in English. */
    text: string;
  }
  /** Too many requests of one side had no correct answer. */
  | {
    code: "failed_requests";
    /** Label of that side. */
    side: string;
    /** The same as a sentence in English. */
    text: string;
  }
  /** A trial of one side has too few requests for this figure. */
  | {
    code: "too_few_requests";
    /** Label of that side. */
    side: string;
    /** The same as a sentence in English. */
    text: string;
  }
  /** One side was measured without this figure. */
  | {
    code: "no_figure";
    /** Label of that side. */
    side: string;
    /** The same as a sentence in English. */
    text: string;
  }
  /** No round has a trial that counts of both sides. */
  | {
    code: "no_common_round";
    /** The same as a sentence in English. */
    text: string;
  }
  /** A sentence of a result of format 1, which had no codes. */
  | {
    code: "text";
    text: string;
  };

/** The reason why a server did not keep up with a constant target rate. */
export type Behind =
  /**
   * More and more requests were in flight in the second half of the load. A request is in flight
   * from its scheduled time until its end.
   */
  | {
    because: "growing";
    /** Requests in flight in the middle of the load. */
    in_flight_at_half: number;
    /** Requests in flight at the end of its last whole second. */
    in_flight_at_end: number;
  }
  /** The server turned requests away, or they were given up. */
  | {
    because: "lost";
    /** Number of such requests. */
    requests: number;
    /** Number of scheduled requests. */
    planned: number;
  }
  /** The client waited for the server and so stretched its schedule. */
  | {
    because: "stretched";
    /** Real ÷ planned length of the schedule. */
    factor: number;
  };

/** How far a load without a correct answer got. */
export type Kind =
  /** No request was sent: the request file has none. */
  | "unsent"
  /** Requests were sent, but no complete answer arrived. */
  | "unanswered"
  /** Answers arrived, and all of them were wrong. */
  | "incorrect";

/** Requests that failed in the same way. */
export interface FailedRequests {
  /** The kind of failure, as in `counts`. */
  kind: string;
  /** Number of requests. */
  requests: number;
  /** Whether the protocol was FastCGI. */
  is_fastcgi: boolean;
  /** What the first of them got as its answer, as in `examples`. Null: not known. */
  found: string | null;
  /** Where the first of them was redirected to. Null: it was not redirected. */
  location: string | null;
}

/** The reason why a request file has no request. */
export type NoRequest =
  /** The file could not be read. */
  | {
    failed: ReadFailure;
  }
  /** The first entry is not a valid request. */
  | {
    broken: {
      /** The line of the entry, counted from 1. */
      line: number;
      /** The error in the entry. */
      error: EntryError;
    };
  };

/** Why a file could not be read again to its end. */
export type ReadFailure =
  /** The system refuses it. */
  | {
    code: "unreadable";
    /** The file. */
    path: string;
    /** What the system said. */
    os_error: string;
  }
  /** It was changed meanwhile. */
  | {
    code: "emptied";
    /** The file. */
    path: string;
  };

/** The reason why a load has no correct answer. */
export interface Nothing {
  /** How far the load got. */
  kind: Kind;
  /** Where the requests were sent: an address and port, or the path of a socket. */
  target: string;
  /** The most frequent kinds of failure. */
  failures: FailedRequests[];
  /** Number of requests that failed in other ways. */
  others: number;
  /** Number of requests that were never sent. */
  dropped: number;
  /** The problem with the request file. Null: it has requests. */
  file: NoRequest | null;
}

/** Something that the user should know before a load starts. */
export type Before =
  /** There may be more connections than the limit of open files allows. */
  | {
    code: "few_files";
    /** The most connections that there may be. */
    connections: number;
    /** The open files that they need. */
    needed: number;
    /** The hard limit of open files. */
    limit: number;
  }
  /** There may be more connections than local ports. */
  | {
    code: "few_ports";
    /** The most connections that there may be. */
    connections: number;
    /** Number of local ports. */
    ports: number;
  }
  /** One connection per request may use up the local ports. */
  | {
    code: "few_ports_over_time";
    /** Connections per minute. Null: as many as are answered. */
    connections_per_minute: number | null;
    /** Number of local ports. */
    ports: number;
  }
  /** The host name has several addresses. */
  | ChosenAddress & {
    code: "addresses";
  }
  /** A key of a `load.yaml` is skipped. */
  | {
    code: "key_passed_over";
    /** The key with its section: `phantom.threads`. */
    key: string;
    /** Line of the key, counted from 1. */
    line: number;
    /** What happens instead, in English. */
    instead: string;
  }
  /** A part of another tool's script is not taken over. */
  | {
    code: "left_out_of_script";
    /** What it is, in English. */
    what: string;
    /** Its lines, counted from 1. */
    lines: number[];
    /** What happens instead, in English. */
    instead: string;
  }
  /** No flag says how much to send, so a default is sent. */
  | {
    code: "default_load";
    /** The load as flags: `--concurrency 10 --for 10s`. */
    flags: string;
  }
  /** The path of the URL is not requested: the request file has its own paths. */
  | {
    code: "path_unused";
    /** The path of the URL. */
    path: string;
  };

/** What a name with several addresses stands for, and which of them are used. */
export interface ChosenAddress {
  /** The host name. */
  name: string;
  /** All its addresses. */
  addresses: string[];
  /** The addresses that accepted no connection, each with its port. */
  silent: string[];
  /**
   * The address that requests go to, with its port, or the first of several; null if no address
   * accepts a connection.
   */
  taken: string | null;
  /** The further addresses that connections go to, in turn with `taken`. */
  also: string[];
}

/** Something that was noticed about an external runtime. */
export type External =
  /** The runtime's host name has several addresses. */
  | ChosenAddress & {
    code: "addresses";
  }
  /** Memory that processes share is divided among them, and kernel memory is not counted. */
  | {
    code: "memory_shared";
  }
  /** This user may not read the runtime's memory. */
  | {
    code: "memory_unreadable";
  }
  /** The watched processes do not themselves listen on the port. */
  | {
    code: "other_listener";
    /** What is watched, such as `unit shop.service`. */
    watch: string;
    /** The port of the runtime's URL. */
    port: number;
  };

/** Something that was noticed about a compose project. */
export type Containers =
  /** The project is configured for development. */
  | {
    code: "development";
    /** What shows it, at least one. */
    signs: DevelopmentSign[];
  }
  /** How the project is run. */
  | {
    code: "project";
    /** The engine with its version. */
    engine: string;
    /** The service that requests go to. */
    service: string;
    /** The port inside its container. */
    port: number;
    /** The services within the budget. */
    services: string[];
    /** The services beside it. */
    beside: string[];
    /** The services that are not started: tools for people, which no other service needs. */
    left_out: string[];
  }
  /** The services cannot share one limit of CPU time and memory. */
  | {
    code: "limits_per_service";
  }
  /** The engine limits neither memory nor CPU time. */
  | {
    code: "limits_missing";
  }
  /** A flag names stages of Dockerfiles, for several projects, that this one does not have. */
  | {
    code: "stages_missing";
    /** The stages. */
    stages: string[];
  }
  /** Volumes that other projects share with this one. */
  | {
    code: "external_volumes";
    /** Their names. */
    volumes: string[];
  }
  /** Volumes whose files are on another machine, or kept by a plugin of the engine. */
  | {
    code: "volumes_elsewhere";
    /** Their names, each with what keeps its files: `files (nfs)`. */
    volumes: string[];
  }
  /** Requests pass a proxy of the engine, which costs time and CPU of its own. */
  | {
    code: "through_a_proxy";
  }
  /** Health checks run during the load, since other services wait for them. */
  | {
    code: "health_checks_run";
    /** Their services. */
    services: string[];
  }
  /** The project uses networks that exist outside of it. The stack gets its own in their place. */
  | {
    code: "external_networks";
    /** Their names. */
    networks: string[];
  }
  /** Services have limits of their own below the budget, from the project's files. */
  | {
    code: "own_limits";
    /** Their services, each with its limits. */
    services: OwnLimit[];
  }
  /** Services are less isolated than containers usually are. */
  | {
    code: "host_access";
    /** Their services, each with the keys that say so: `web (privileged)`. */
    services: string[];
  }
  /** The server's name leads to HTTPS, which the load does not speak. */
  | {
    code: "https_name";
    /** The value of `SERVER_NAME`. */
    name: string;
  }
  /** Trials write to the project's own volumes. */
  | {
    code: "volumes_kept";
  };

/** What shows a development configuration. */
export type DevelopmentSign =
  /** An environment variable. */
  | {
    code: "variable";
    /** Its name. */
    variable: string;
    /** Its value. */
    value: string;
  }
  /** The code is mounted from the machine. */
  | {
    code: "mounted_code";
    /** The service. */
    service: string;
    /** The directory of the machine. */
    path: string;
  }
  /** An image is built for development. */
  | {
    code: "build_target";
    /** The service. */
    service: string;
    /** The stage of its build. */
    target: string;
    /** The stage of the same Dockerfile whose name says that it is for production; empty: there is none. */
    production: string;
    /** Its other stages. */
    others: string[];
  }
  /** A variable that the service's Dockerfile or image sets. */
  | {
    code: "of_image";
    /** The service. */
    service: string;
    /** The variable's name. */
    variable: string;
    /** Its value. */
    value: string;
  }
  /** The service's Dockerfile installs Xdebug. */
  | {
    code: "xdebug_installed";
    /** The service. */
    service: string;
  }
  /** A directive in a php.ini file that the project mounts. */
  | {
    code: "directive";
    /** The file of the machine. */
    path: string;
    /** The directive, such as `opcache.validate_timestamps`. */
    directive: string;
    /** Its value. */
    value: string;
  }
  /** A variable in the environment file of mounted code, which the app reads itself. */
  | {
    code: "of_file";
    /** The file's name, such as `.env`. */
    file: string;
    /** The variable's name. */
    variable: string;
    /** Its value. */
    value: string;
  };

/** A limit of one service. */
export interface OwnLimit {
  /** The service. */
  service: string;
  /** Its CPUs, as the project's files have them; empty: no limit. */
  cpus: string;
  /** Its memory, likewise. */
  memory: string;
}

/** Damage to a stored run. */
export type Damage =
  /** The last line of a file was cut off, and is left out. */
  | {
    code: "torn";
    /** The file. */
    path: string;
  }
  /** A file is missing that every trial with a load has. */
  | {
    code: "gone";
    /** The file. */
    path: string;
  }
  /** A part that cannot be read was left out. */
  | {
    code: "left_out";
    /** Why it cannot be read. */
    cause: Cause;
  };

/** The data that distinguishes a run from others. */
export interface Identity {
  /** The run's id. */
  id: string;
  /** When the run started, in RFC 3339. */
  started_at: string;
  /** Number of rounds. */
  rounds: number;
  /** The seed of the order of trials. */
  seed: number;
}

/** A property of a machine that changes figures. */
export type MachinePart =
  /** Model of the CPU. */
  | "cpu"
  /** Number of CPUs. */
  | "cpus"
  /** Size of the memory. */
  | "memory"
  /** Version of the kernel. */
  | "kernel"
  /** Kind of virtual machine. */
  | "virtual_machine"
  /** Kind of container. */
  | "container";

/** The record of `rounds: auto`. */
export interface AutoRecord {
  /** An interval is narrow if it is narrower than this share of its value. */
  precision_share: number;
  /** No round begins that would end later than this after the start of the run. */
  max_time_ns: number;
  /** What each check found. */
  looks: AutoCheckRecord[];
  /** The limit that ended the rounds; `None`: they have not ended. */
  ended: AutoEnd | null;
}

/** One check of `rounds: auto`. */
export interface AutoCheckRecord {
  /** Number of rounds before the check. */
  rounds: number;
  /** Why the rounds went on or stopped. */
  found: Look;
}

/** Why `rounds: auto` ended. */
export type AutoEnd =
  /** Every interval is narrow. */
  | "precision"
  /** The next round would have ended too late. */
  | "max_time"
  /** Twenty rounds were done. */
  | "rounds";

/** All runtimes under one app and one load: the rows that may be compared. */
export interface Group {
  /** The app's name. */
  app: string;
  /** The load's name. */
  load: string;
  /** A description of the load. */
  load_text: string;
  /** The load as data. `None`: it is not known. */
  shape?: LoadShape | null;
  /** Whether the load is open or closed. */
  model: LoadModel;
  /** Requests per second. `None`: the load has no single rate from start to end. */
  rate_per_second?: number | null;
  /** The figure by which the cases are sorted and compared. */
  primary: Primary;
  /** Sentences on how the rows compare with the baseline, and how certain that is. */
  sentence: string;
  /**
   * The row that the others are compared with, chosen before the run. `None`: nothing is
   * compared.
   */
  baseline: string | null;
  /** The comparison of each other measured row with the baseline, the best first. */
  comparisons: Comparison[];
}

/** What a load does over time. Two loads are the same if their shapes are equal. */
export type LoadShape =
  /** Requests follow a schedule. */
  | {
    open: Segments;
  }
  /** Each next request is sent after an answer. */
  | {
    closed: Closed;
  };

/**
 * Segments of target rate: `line(1,100,60s) const(100,540s)`.
 *
 * At least one segment; from `Segments::parse` also at least one request.
 */
export type Segments = Segment[];

/**
 * One segment, as written. As data it is `{"kind": "const", "rate_per_second": 100, "length_ns":
 * …}`.
 */
export type Segment =
  /** `const(rate,length)`. */
  | {
    kind: "const";
    /** Target rate. */
    rate_per_second: MicroRate;
    /** Length of the segment. */
    length_ns: Nanos;
  }
  /** `line(from,to,length)`: the rate changes evenly, up or down. */
  | {
    kind: "line";
    /** Rate at the start. */
    from_per_second: MicroRate;
    /** Rate at the end. */
    to_per_second: MicroRate;
    /** Length of the segment. */
    length_ns: Nanos;
  }
  /**
   * `step(from,to,by,length)`: levels that are `by` apart, each for `length`. The levels may
   * descend. As in Yandex Tank, `to` is an additional level where the steps do not reach it
   * exactly.
   */
  | {
    kind: "step";
    /** First level. */
    from_per_second: MicroRate;
    /** Last level. */
    to_per_second: MicroRate;
    /** Distance between levels, more than 0. */
    by_per_second: MicroRate;
    /** Length of each level. */
    length_ns: Nanos;
  };

/**
 * Requests per second in millionths. An integer, so that counts over a whole schedule are
 * exact: `const(0.1,10s)` is one request, not 0.9999 of one.
 */
export type MicroRate = number;

/**
 * A number of nanoseconds on the monotonic clock: either a moment, counted from the start of the
 * load, or a length of time.
 */
export type Nanos = number;

/** A closed load. It ends after a length, after a number of requests, or with its request file. */
export interface Closed {
  /** Requests at a time. */
  concurrency: number;
  /** How long the load sends; null: something else ends it. */
  length_ns: number | null;
  /** How many requests the load sends; null: something else ends it. */
  requests: number | null;
}

/** The model of a load. */
export type LoadModel =
  /**
   * Requests are due whether or not earlier ones were answered. Only this model has response
   * times.
   */
  | "open"
  /** Each next request is sent after an answer. Only service times exist. */
  | "closed";

/** The comparison of one row with the baseline. */
export interface Comparison {
  /** The row's runtime. */
  runtime: string;
  /**
   * The row's primary figure ÷ the baseline's, from geometric means over rounds. All 95 %
   * intervals of a group hold simultaneously. `None`: the two are not compared.
   */
  ratio: Estimate | null;
  /** What the interval shows. `None`: the two are not compared. */
  relation: Relation | null;
  /** Why the two are not compared. */
  why_not?: NotCompared | null;
  /**
   * The total number of rounds after which an inconclusive comparison would be decided in four
   * of five runs. `None` for an inconclusive comparison: more than 200.
   */
  rounds_needed?: number | null;
}

/** How a case's values compare with the baseline's. The caller knows whether higher is better. */
export type Relation =
  /** The 95 % interval lies above 1, and the ratio beyond the margin. */
  | "higher"
  /** The 95 % interval lies below 1, and the ratio beyond the margin. */
  | "lower"
  /** The 90 % interval lies within the margin. */
  | "equivalent"
  /** None of the relations above. */
  | "inconclusive"
  /** Fewer than three rounds: a first impression. */
  | "too_few_rounds";

/** Why a row is not compared with the baseline. */
export type NotCompared =
  /** The row got no correct answer. */
  | {
    code: "no_correct_answer";
    /** The same as a sentence in English. */
    text: string;
  }
  /** Too many of the row's requests failed. */
  | {
    code: "failed_requests";
    /** Requests without a correct answer ÷ planned requests. */
    failed_share: number;
    /** The most frequent kinds of failure, the most frequent first: `http:502`, `net:timeout`. */
    kinds: string[];
    /** The same as a sentence in English. */
    text: string;
  }
  /** The percentile that rows are compared by falls on a failed request. */
  | {
    code: "percentile_failed";
    /** The same as a sentence in English. */
    text: string;
  }
  /** Only a lower bound of the row's figure is known. */
  | {
    code: "lower_bound";
    /** The same as a sentence in English. */
    text: string;
  }
  /** No trial of the row has enough requests for the figure. */
  | {
    code: "no_figure";
    /** The same as a sentence in English. */
    text: string;
  }
  /** No round has a trial that counts of both the row and the baseline. */
  | {
    code: "no_common_round";
    /** The same as a sentence in English. */
    text: string;
  }
  /** The baseline itself cannot be compared. */
  | {
    code: "baseline_not_usable";
    /** The same as a sentence in English. */
    text: string;
  }
  /** A sentence of a result of format 1, which had no codes. */
  | {
    code: "text";
    text: string;
  };

/** The summary of one case. */
export interface CaseSummary {
  /** The name of the runtime or the variant. */
  runtime: string;
  /**
   * Whether the case measures the other version a second time. Only its difference from the
   * first time is of interest, so it is in no ranking.
   */
  is_noise?: boolean;
  /** The app's name. */
  app: string;
  /** The load's name. */
  load: string;
  /** Whether the load is open or closed. */
  model: LoadModel;
  /** The worst verdict among the trials that count, or why no trial counts. */
  verdict: CaseVerdict;
  /** The reasons for the verdict, each with its trials, also those of trials that do not count. */
  reasons: CaseReason[];
  /** Why its figures may not be compared with the other cases of this app. Empty: they may. */
  not_comparable: NotComparable[];
  /**
   * Differences from the other cases that the plan asked for, as observed. They are settings and
   * no reason against a comparison.
   */
  asked: PhpSetting[];
  /** Differences from the other cases that its SAPI causes: no reason against a comparison. */
  forced: PhpSetting[];
  /** State of one request that a later request sees, where that is the runtime's nature. */
  kept?: string[];
  /**
   * What the runtime is known to do with a request in another way than nginx with PHP-FPM: a
   * sentence for each.
   */
  differs?: string[];
  /** The provider of the runtime. */
  provider: ProviderKind;
  /** The runtime's title for people. Empty: it never started. */
  title: string;
  /** `per-request`, `worker` or `event-loop`. Empty: it never started. */
  mode: string;
  /** Maps each program to its version. */
  versions: Record<string, string>;
  /** The PHP version that was observed. Empty: none was. */
  php_version?: string;
  /** PHP extensions that the app needs and that are not loaded. */
  extensions_missing?: string[];
  /** The number of PHP workers that was observed. `None`: not known. */
  workers?: number | null;
  /** CPUs of the whole stack: 100 % CPU use. A fraction is a quota. */
  budget_cpus: number;
  /** Memory limit of the whole stack in bytes. 0: no limit. */
  budget_memory_bytes: number;
  /** Whether the budget is split by role, or single services have limits of their own. */
  budget_unequal: boolean;
  /** Timeout of a request. 0: nothing was sent. */
  timeout_ns: number;
  /**
   * Actual ÷ planned length of the schedule, the largest among the trials. 1 unless the client
   * stretches the schedule.
   */
  stretched_max: number;
  /** Number of trials that count: valid and suspect ones. */
  trials_counted: number;
  /** Number of trials that do not count: invalid ones. */
  trials_invalid: number;
  /** Number of planned trials that are not on disk. */
  trials_missing: number;
  /** Sums over the trials that count. */
  counts: CaseCounts;
  /** Response time over all planned requests. Open model only. */
  response_time_ns: TimeFigures;
  /** The same without schedule lag, the generator's own delay. Open model only. */
  response_time_without_lag_ns: TimeFigures;
  /**
   * A lower bound of the time that tables show, which is response time in the open model and
   * service time in the closed one: also without the time for which answers may have been there
   * before they were seen. Only where nothing stamps what arrives (Unix sockets).
   */
  lower_bound_ns: TimeFigures;
  /**
   * The figures of the time that tables show of which the generator's own delay makes, or may
   * make, more than 5 % and 20 µs.
   */
  lag_marks?: LagMark[];
  /** Response time of the ok requests alone. Open model only. */
  response_time_ns_ok: TimeFigures;
  /** Service time over all planned requests. */
  service_time_ns: TimeFigures;
  /** Service time of the ok requests alone. */
  service_time_ns_ok: TimeFigures;
  /** The wait for a free connection, caused by the runtime. */
  connection_wait_ns_p99: Figure;
  /** The delay in sending, caused by the generator. */
  schedule_lag_ns_p99: Figure;
  /** From the runtime's start to the first correct answer. */
  first_answer_ns: Figure;
  /** Duration of the request that got this first answer: a cold start, as a client sees it. */
  first_request_ns: Figure;
  /** Correct answers ÷ planned requests, 0 to 1. */
  ok_share: Figure;
  /** Requests due per second. Open model only. */
  offered_per_second: Figure;
  /** Correct answers done within the schedule ÷ its length. */
  throughput_per_second: Figure;
  /** Bytes of answers per second, heads included, until the last answer. */
  received_bytes_per_second: Figure;
  /** Bytes of requests per second, heads included, until the last answer. */
  sent_bytes_per_second: Figure;
  /** Share of the whole stack's budget: the median of the readings within the schedule. */
  cpu_percent_median: Figure;
  /** The highest of those readings. */
  cpu_percent_max: Figure;
  /** CPU time of the whole stack per correct answer, in µs. */
  cpu_cost_us: Figure;
  /**
   * CPU time of the container engine beside the budget (its daemon, shims and proxies) per correct
   * answer, in µs. Rows of containers only.
   */
  engine_cost_us?: Figure;
  /** Memory of the whole stack: the median of the readings. */
  memory_bytes_median: Figure;
  /** The highest reading. */
  memory_bytes_max: Figure;
  /** The figures of each role. */
  roles: Record<string, RoleFigures>;
  /** Every trial on disk with its own figures, including invalid ones. */
  trials: TrialSummary[];
  /**
   * Significance groups as letters. Rows without a common letter differ, with all pairs taken
   * together (Tukey). Empty with fewer than three rounds.
   */
  significance_groups?: string;
  /** How the primary figure changes from round to round. `None`: no significant change. */
  drift?: Drift | null;
  /** The plan's expectations with their outcomes. */
  expectations: ExpectationValidity[];
  /**
   * The rate at which a rising load broke it. `None`: the load does not rise, or no trial
   * counts.
   */
  breaking?: Breaking | null;
  /** When requests ended without a correct answer, by kind of failure. */
  errors_over_time?: Record<string, ErrorSpan>;
  /** What limited it, the most direct cause first. Empty: not known. */
  why?: LimitingCause[];
  /**
   * Which resources of its stack were exhausted under a closed load. Empty: none, so its
   * throughput is a lower bound. `None`: not known.
   */
  exhausted?: Exhausted[] | null;
  /**
   * Whether it kept up with a constant target rate. `None`: the load has none, or it cannot be
   * determined.
   */
  kept_up?: KeptUp | null;
  /** The agents that sent the load, over the trials that count. Empty: stampede sent it itself. */
  agents?: AgentFigures[];
  /** The check by Little's law. `None`: not known. */
  in_flight?: InFlight | null;
  /** Its answers when each page was requested before the load. */
  pages: Pages;
}

/** The verdict on a case. */
export type CaseVerdict =
  /** All trials that count are valid. */
  | "valid"
  /** A trial that counts is suspect: something was noticed. */
  | "suspect"
  /** It has trials, but all are invalid, so none counts. */
  | "invalid"
  /** None of its trials is on disk. */
  | "missing"
  /** It was excluded from measuring. */
  | "refused";

/**
 * Reasons for a verdict that several trials share. With the verdict `Valid` they are notes that do
 * not affect it.
 */
export interface CaseReason {
  /** The verdict that the reasons led to. `None`: they are about the case itself. */
  judged: Validity | null;
  /** The numbers of those trials. */
  trials: number[];
  /** The reasons in words. */
  text: string;
  /** The reasons as data. */
  reasons: Reason[];
}

/** The judgement of a trial. */
export type Validity =
  /** The trial counts. */
  | "valid"
  /** The trial counts, with a mark. */
  | "suspect"
  /** The trial does not count, and is in no average. */
  | "invalid";

/** Why a runtime's figures may not be compared with the others'. */
export type NotComparable =
  /** The runtime was already running: stampede set neither its CPUs nor its settings. */
  | {
    code: "already_running";
    /** The same as a sentence in English. */
    text: string;
  }
  /** Each of its containers has the budget for itself, and other rows share one. */
  | {
    code: "own_limits";
    /** The same as a sentence in English. */
    text: string;
  }
  /** Nothing limits the memory of its containers, nor fractions of a CPU, and other rows have the budget. */
  | {
    code: "limits_missing";
    /** The same as a sentence in English. */
    text: string;
  }
  /** Requests reach it by a proxy of the container engine, and other rows without one. */
  | {
    code: "through_a_proxy";
    /** The same as a sentence in English. */
    text: string;
  }
  /** The runtime has another number of workers than was asked for. */
  | {
    code: "workers_differ";
    /** The number that was observed. */
    workers: number;
    /** The number that was asked for. */
    asked: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The number of workers changed during the load. */
  | {
    code: "workers_changed";
    /** The number after the load. */
    workers: number;
    /** The number before the load. */
    before: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The workers are threads, and the runtime's PHP is not thread-safe. */
  | {
    code: "not_thread_safe";
    /** The same as a sentence in English. */
    text: string;
  }
  /** State of one request is visible in a later one. */
  | {
    code: "not_isolated";
    /** The kinds of state. Empty: it is not known that requests are isolated. */
    leaks: string[];
    /** The same as a sentence in English. */
    text: string;
  }
  /** The app's page differs from the page of the other runtimes. */
  | {
    code: "answer_differs";
    /** The first line that differs. */
    shown?: string | null;
    /** The same as a sentence in English. */
    text: string;
  }
  /** A page of the load differs from the page of the other runtimes. */
  | {
    code: "page_differs";
    /** The page of this runtime. */
    page: PageRecord;
    /** The page of the other runtimes. */
    reference: PageRecord;
    /**
     * The first lines that differ: `- ` those of the other runtimes, `+ ` those of this one. Secrets
     * are masked. Empty: they are not known.
     */
    lines?: string[];
    /** The same as a sentence in English. */
    text: string;
  }
  /** Further pages of the load differ. */
  | {
    code: "more_pages_differ";
    /** Number of further pages. */
    pages: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The runtime was measured at another path, to which its redirects led. */
  | {
    code: "path_differs";
    /** The path of this runtime. */
    path: string;
    /** The path of the other runtimes. */
    reference: string;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The mean size of the answers under load differs. */
  | {
    code: "body_size_differs";
    /** The mean of this runtime, in bytes. */
    mean_bytes: number;
    /** The reference's mean, in bytes. */
    reference_bytes: number;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The PHP version differs. */
  | {
    code: "php_version_differs";
    /** The version of this runtime. */
    version: string;
    /** The reference's version. */
    reference: string;
    /** The same as a sentence in English. */
    text: string;
  }
  /** OPcache is on in this runtime and off in the reference, or the other way round. */
  | {
    code: "opcache_differs";
    /** Whether OPcache is on in this runtime. */
    on: boolean;
    /** The same as a sentence in English. */
    text: string;
  }
  /** JIT is on in this runtime and off in the reference, or the other way round. */
  | {
    code: "jit_differs";
    /** Whether JIT is on in this runtime. */
    on: boolean;
    /** The same as a sentence in English. */
    text: string;
  }
  /** Values of php.ini differ. */
  | {
    code: "ini_differs";
    /** The values that differ. */
    values: IniValue[];
    /** The same as a sentence in English. */
    text: string;
  }
  /** The loaded extensions differ. */
  | {
    code: "extensions_differ";
    /** The extensions that differ. */
    extensions: Extension[];
    /** The same as a sentence in English. */
    text: string;
  }
  /** PHP has other values of php.ini than the plan asks for. */
  | {
    code: "ini_not_taken";
    /** The values; the reference is what was asked for. */
    values: IniValue[];
    /** The same as a sentence in English. */
    text: string;
  }
  /** It is not known which PHP serves, so nothing of it can be compared. */
  | {
    code: "php_unproven";
    /** The reason. */
    why: Unproven;
    /** The same as a sentence in English. */
    text: string;
  }
  /** A sentence of a result of format 1, which had no codes. */
  | {
    code: "text";
    text: string;
  };

/** A setting of PHP that differs for a known reason. */
export type PhpSetting =
  /** OPcache is on in this runtime and off in the reference, or the other way round. */
  | {
    code: "opcache";
    /** Whether OPcache is on in this runtime. */
    on: boolean;
    /** The same as a sentence in English. */
    text: string;
  }
  /** JIT is on in this runtime and off in the reference, or the other way round. */
  | {
    code: "jit";
    /** Whether JIT is on in this runtime. */
    on: boolean;
    /** The same as a sentence in English. */
    text: string;
  }
  /** A value of php.ini differs. */
  | IniValue & {
    code: "ini";
    /** The same as a sentence in English. */
    text: string;
  }
  /** An extension is loaded in only one of this runtime and the reference. */
  | Extension & {
    code: "extension";
    /** The same as a sentence in English. */
    text: string;
  }
  /** The version differs. */
  | {
    code: "version";
    /** The version of this runtime. */
    version: string;
    /** The reference's version. */
    reference: string;
    /** The same as a sentence in English. */
    text: string;
  }
  /** A sentence of a result of format 1, which had no codes. */
  | {
    code: "text";
    text: string;
  };

/** Where a runtime comes from. */
export type ProviderKind =
  /** Programs of this machine, started by stampede. */
  | "native"
  /** A runtime that is already running. stampede neither starts nor stops it. */
  | "external"
  /** Services of a compose project, in containers that stampede started. */
  | "compose"
  /** Programs of container images, with stampede's own configuration. */
  | "images";

/** Counts of requests by outcome, and of other events. */
export interface CaseCounts {
  /** Requests in the schedule. In the closed model: requests started. */
  planned: number;
  /** Correct answers. */
  ok: number;
  /** Failed requests by kind of failure. */
  failed: Record<string, number>;
  /** Requests that were due but never started. */
  dropped: number;
  /** Processes that started after the runtime's start. */
  restarts: number;
  /** Voluntary and involuntary, of the whole stack (at most 64 processes per role). */
  context_switches: number;
  /** The highest number of requests in flight, over all trials. */
  in_flight_max: number;
}

/** The summary of one trial. */
export interface TrialSummary {
  /** The number in the run, counted from 1. */
  number: number;
  /** The round, counted from 1. */
  round: number;
  /** The trial's verdict. */
  verdict: Validity;
  /** The reasons for the verdict. */
  reasons: Reason[];
  /** Notes that do not affect the verdict. */
  notes?: Reason[];
  /** Whether the load was stopped before its end. Requests not due by then count as `dropped`. */
  stopped: boolean;
  /** The time from the trial's start to the end of its last phase. */
  lasted_ns: number;
  /** Counts of requests and events. */
  counts: CaseCounts;
  /** Response time over all planned requests. Open model only. */
  response_time_ns: TimeFigures;
  /** The same without schedule lag, the generator's own delay. Open model only. */
  response_time_without_lag_ns: TimeFigures;
  /**
   * A lower bound of the time that tables show, which is response time in the open model and
   * service time in the closed one: also without the time for which answers may have been there
   * before they were seen. Only where nothing stamps what arrives (Unix sockets).
   */
  lower_bound_ns: TimeFigures;
  /**
   * The figures of the time that tables show of which the generator's own delay makes, or may
   * make, more than 5 % and 20 µs.
   */
  lag_marks?: LagMark[];
  /** Response time of the ok requests alone. Open model only. */
  response_time_ns_ok: TimeFigures;
  /** Service time over all planned requests. */
  service_time_ns: TimeFigures;
  /** Service time of the ok requests alone. */
  service_time_ns_ok: TimeFigures;
  /** The wait for a free connection, caused by the runtime. */
  connection_wait_ns_p99: Figure;
  /** The delay in sending, caused by the generator. */
  schedule_lag_ns_p99: Figure;
  /** From the runtime's start to the first correct answer. */
  first_answer_ns: Figure;
  /** Duration of the request that got this first answer: a cold start, as a client sees it. */
  first_request_ns: Figure;
  /** Correct answers ÷ planned requests, 0 to 1. */
  ok_share: Figure;
  /** Requests due per second. Open model only. */
  offered_per_second: Figure;
  /** Correct answers done within the schedule ÷ its length. */
  throughput_per_second: Figure;
  /** Bytes of answers per second, heads included, until the last answer. */
  received_bytes_per_second: Figure;
  /** Bytes of requests per second, heads included, until the last answer. */
  sent_bytes_per_second: Figure;
  /** Share of the whole stack's budget: the median of the readings within the schedule. */
  cpu_percent_median: Figure;
  /** The highest of those readings. */
  cpu_percent_max: Figure;
  /** CPU time of the whole stack per correct answer, in µs. */
  cpu_cost_us: Figure;
  /**
   * CPU time of the container engine beside the budget (its daemon, shims and proxies) per correct
   * answer, in µs. Rows of containers only.
   */
  engine_cost_us?: Figure;
  /** Memory of the whole stack: the median of the readings. */
  memory_bytes_median: Figure;
  /** The highest reading. */
  memory_bytes_max: Figure;
  /** The figures of each role. */
  roles: Record<string, RoleFigures>;
  /** The target rate at which a rising load broke it. */
  breaking_point?: BreakingPoint | null;
  /** What limited it, the most direct cause first. */
  why?: LimitingCause[];
  /** The same as `exhausted` of a case. */
  exhausted?: Exhausted[] | null;
  /** The same as `kept_up` of a case. */
  kept_up?: KeptUp | null;
  /** The agents that sent the load. Empty: stampede sent it itself. */
  agents?: AgentFigures[];
  /** The same as `in_flight` of a case. */
  in_flight?: InFlight | null;
  /** Whether answers to a constant load were stable over time. `None`: it is not constant. */
  steady?: Steady | null;
  /** The figures by second. */
  over_time?: OverTime;
}

/** The breaking point of one trial. */
export interface BreakingPoint {
  /** The first second whose requests broke the expectation. 0 is the trial's first second. */
  second: number;
  /** The schedule's rate in that second. */
  offered_per_second: number;
  /** The expectation that broke, as written. */
  lost: string;
  /** Requests due from then on without a correct answer, by kind of failure, including `dropped`. */
  failed: Record<string, number>;
  /** The highest number of requests in flight before that second. */
  in_flight_max_before: number;
  /** The highest number of requests in flight from that second on. */
  in_flight_max_after: number;
  /** Response times of all requests that were due before that second. */
  response_time_ns: TimeFigures;
  /** Response times of the ok requests among them. */
  response_time_ns_ok: TimeFigures;
}

/** One cause that limited a trial or a case. */
export type LimitingCause = {
  /** The cause. */
  cause: Cause2;
  /** The numbers of the trials in which it was found. */
  trials: number[];
  /** The evidence: figures and log lines. */
  evidence?: string[];
  /** The first item of evidence that says more than the text. */
  proof?: string | null;
} & LimitFound;

/** What limited a case, ordered by how directly it explains the figures. */
export type Cause2 =
  /** The load threads of the generator. The runtime's own limit is higher. */
  | "generator"
  /** The memory limit of the stack, or PHP's own. */
  | "memory"
  /** The web server accepts no more connections. */
  | "web-server"
  /** The web server got no answer from PHP: status 502, 503 or 504. */
  | "upstream"
  /** A listen queue was full. */
  | "backlog"
  /** The app itself gave the failing answers, such as 404. */
  | "app"
  /** A CPU quota stopped the processes at times. */
  | "throttled"
  /** All workers were busy, but the CPU was not. */
  | "workers"
  /** Nagle's algorithm together with delayed acknowledgements. */
  | "nagle"
  /** Xdebug is loaded. */
  | "xdebug"
  /** OPcache is off, full, or checks its files for changes. */
  | "opcache"
  /** The whole CPU budget was used. */
  | "cpu"
  /** None of the monitored limits was reached. */
  | "below-limits";

/** A resource of the stack, or of the load generator, that was exhausted. Shares are 0 … 1. */
export type Exhausted =
  /** The load generator. The stack's own limit is higher. */
  | {
    what: "generator";
    /** The share of its time that the busiest load thread was busy. */
    busy_share: number;
  }
  /** The memory limit, or PHP's own. */
  | {
    what: "memory";
    /** The most memory in use, in bytes. */
    used_bytes: number;
    /** The limit of the whole stack, in bytes. 0: it has none. */
    limit_bytes: number;
    /** Number of processes that the kernel killed. */
    kills: number;
  }
  /** The web server accepted no more connections and logged it. */
  | {
    what: "web_server";
    /** The program that logged it. */
    program: string;
    /** The number of log lines. */
    lines: number;
  }
  /** A listen queue was full. */
  | {
    what: "listen_queue";
    /** The name of its listener. Empty: not known. */
    listener: string;
    /** The number of connections that it holds. 0: not known. */
    backlog: number;
    /** The number of connections that were dropped for lack of room. */
    drops: number;
  }
  /** A CPU quota stopped the stack's processes. */
  | {
    what: "quota";
    /** The share of the time. */
    share: number;
  }
  /**
   * The database. It used all CPUs of its own. Or it used most of the CPU time on CPUs shared
   * with the stack, all of which were used.
   */
  | {
    what: "database";
    /** The share of these CPUs that the database alone used. */
    share: number;
    /** The number of these CPUs. */
    cpus: number;
  }
  /** All workers were busy, while the CPU was not. */
  | {
    what: "workers";
    /** The number of workers. */
    workers: number;
    /** The share of samples in which all of them were busy. */
    share: number;
  }
  /**
   * A single thread that no other can relieve: of a runtime with one worker, or of the web
   * server in front.
   */
  | {
    what: "thread";
    /** The thread's role: `php`, `web`. */
    role: string;
    /** The share of its time that it spent on a CPU. */
    share: number;
  }
  /** All CPUs of the budget. */
  | {
    what: "cpu";
    /** The share of them that was used. */
    share: number;
    /** The number of these CPUs. */
    cpus: number;
  }
  /** The CPUs that only one role uses. */
  | {
    what: "role_cpu";
    /** The role: `php`, `web`. */
    role: string;
    /** The share of them that was used. */
    share: number;
    /** The number of these CPUs. */
    cpus: number;
  }
  /**
   * The CPUs of the budget, some of which other programs used: the workers wanted one in almost
   * every sample.
   */
  | {
    what: "cpu_taken";
    /** The share of them that the stack used. */
    share: number;
    /** The number of these CPUs. */
    cpus: number;
  };

/** Whether a server kept up with a constant target rate. */
export type KeptUp =
  /** It answered the requests, and the number in flight did not grow. */
  | {
    kept_up: "yes";
  }
  /** It did not keep up. */
  | {
    kept_up: "no";
    /** The reason. */
    why: Behind;
    /**
     * Answers per second that the server gave itself, right or wrong, while requests were
     * due.
     */
    answered_per_second: number;
    /** Requests due per second. */
    offered_per_second: number;
  }
  /** The load was too short to tell. */
  | {
    kept_up: "too_short";
  };

/** What an agent did in one trial, or in all trials of a case that count. */
export interface AgentFigures {
  /** How the user named it. */
  name: string;
  /** Requests that were due. */
  planned: number;
  /** Correct answers. */
  ok: number;
  /** Requests without a correct answer. */
  failed: number;
  /** Requests that were due and never started. */
  dropped: number;
  /** Median service time of its correct answers; over several trials the mean of their medians. */
  service_time_p50_ns: number | null;
  /** The same for the 95th percentile. */
  service_time_p95_ns: number | null;
  /** The same for the 99th percentile. */
  service_time_p99_ns: number | null;
  /** Share of its time that its busiest load thread spent on work, 0 to 1; the largest one. */
  busy_share: number;
  /** How far its start may have been from the common one; the largest one. */
  start_error_ns: number | null;
  /** In how many trials it was lost. */
  lost: number;
}

/** The mean number of requests in flight, as counted and as Little's law predicts it. */
export interface InFlight {
  /** As counted: the gauge of requests in flight, integrated over time. */
  mean: number;
  /** As predicted: throughput × mean service time, over all outcomes. */
  expected: number;
  /** Counted ÷ predicted. By Little's law it is 1. */
  ratio: number;
  /** The highest number of requests in flight. In the closed model it is the concurrency. */
  max: number;
}

/** Whether a trial was stable over time. This is only a flag: no second is left out because of it. */
export type Steady =
  /** The median service time stayed within 3 % of its level at the end. */
  | {
    steady: "steady";
  }
  /** The median service time changed. */
  | {
    steady: "not_steady";
    /** The levels of the service time, from one change to the next. */
    levels: Level[];
  }
  /** The load lasted less than a minute, or had too few answers. */
  | {
    steady: "too_short";
  };

/** The service time between two changes. */
export interface Level {
  /** The first second of this level; the trial's first second is 0. */
  from_second: number;
  /** The geometric mean of the medians of the seconds. */
  service_time_ns: number;
}

/**
 * A trial by second, one column per figure: entry 0 is the first second. `offered` counts a
 * request in the second in which it was due (closed model: started). All other columns count it in
 * the second in which it ended.
 */
export interface OverTime {
  /** Requests due. */
  offered: number[];
  /** Correct answers. */
  ok: number[];
  /** Failed requests by kind of failure. Kinds that did not occur are left out. */
  failed: Record<string, number[]>;
  /** Requests that were due but never started. */
  dropped: number[];
  /** The highest number of requests in flight. */
  in_flight_max: number[];
}

/** How a figure changes from round to round. */
export interface Drift {
  /** Last round ÷ first round, along a straight line through the logarithms. */
  ratio: number;
  /** The probability of such a change without a drift, adjusted for the number of cases. */
  chance: number;
}

/** An expectation and its outcome for a case. */
export type ExpectationValidity = {
  /** The expectation as written in the plan. */
  text: string;
  /** The parsed expectation. `None`: a later version wrote it, and it cannot be read. */
  bound?: Bound | null;
} & (
  /** It holds. */
  | {
    outcome: "met";
  }
  /** It does not hold. */
  | {
    outcome: "not_met";
    /** The value that was found instead. */
    figure: FoundFigure;
  }
  /** Undecided: too few requests, only a lower bound, or it needs another run. */
  | {
    outcome: "unknown";
    /** What is known of the figure. `None`: nothing. */
    figure?: FoundFigure | null;
  });

/** The condition of an expectation. */
export interface Bound {
  /** The figure that the condition is about. */
  figure: string;
  /** Whether the condition is about the change against another run (`worse`). */
  worse: boolean;
  /** How the figure must relate to the limit. */
  relation:
    /** Less than the limit. */
    | "<"
    /** Less than or equal to the limit. */
    | "<="
    /** More than the limit. */
    | ">"
    /** More than or equal to the limit. */
    | ">=";
  /** Times in ns, shares as 0 … 1, rates per second, memory in bytes. */
  limit: number;
}

/** The breaking points of a case with a rising load. */
export interface Breaking {
  /** The expectations that were judged, as written. */
  judged: string[];
  /** Number of trials that count and were judged. */
  trials: number;
  /** Number of these trials that broke. 0: none did. All fields below are over these. */
  trials_broken: number;
  /** The second in which each of them broke. */
  seconds: number[];
  /** The schedule's rate in that second. */
  offered_per_second: Figure;
  /** The expectations that broke, each once. */
  lost: string[];
  /**
   * Requests due from then on without a correct answer, by kind of failure, including `dropped`:
   * sums over the trials.
   */
  failed: Record<string, number>;
  /** The highest number of requests in flight before that second. */
  in_flight_max_before: number;
  /** The highest number of requests in flight from that second on. */
  in_flight_max_after: number;
  /** Response times of all requests that were due before that second. */
  response_time_ns: TimeFigures;
  /** Response times of the ok requests among them. */
  response_time_ns_ok: TimeFigures;
}

/** The seconds in which requests ended without a correct answer, for one kind of failure. */
export interface ErrorSpan {
  /** The earliest of these seconds over the trials that count. 0 is a trial's first second. */
  first_second: number;
  /** The latest of these seconds. */
  last_second: number;
  /** The number of such seconds in a trial: the largest among the trials. */
  seconds_max: number;
}

/** A row's answers when each page of the load was requested once. */
export interface Pages {
  /** The first pages, in the order of the load, with secrets masked. */
  first: PageRecord[];
  /** The number of pages that were requested. */
  asked: number;
}

/** Published tables beside what was measured. */
export interface PublishedComparison {
  /** What to call the publication: `article 000`, or its title. */
  publication: string;
  /** Its title. */
  title?: string | null;
  /** Its address. */
  source?: string | null;
  /** Number of rounds of the run. */
  rounds: number;
  /** The answer in one or two sentences. */
  sentence: string;
  /** The tables in the order of the publication. */
  tables: TableComparison[];
  /** The claims in the order of the publication. */
  claims: ClaimComparison[];
}

/** One published table beside what was measured. */
export interface TableComparison {
  /** Its title. */
  title: string;
  /** A remark of the publication about it. */
  note?: string | null;
  /** Its rows. Cells and pairs name them by index. */
  rows: ComparedRow[];
  /** Its columns. */
  columns: ColumnComparison[];
  /** What a reader must know of rows: where servers broke, and why figures are missing. */
  notes: string[];
}

/** A row of a table. */
export interface ComparedRow {
  /** What the row is called: its name in the publication, or else its runtime. */
  label: string;
  /** The runtime in the plan. */
  runtime: string;
  /** The app in the plan. `None`: the table does not say, and no single one was measured. */
  app?: string | null;
  /** The load in the plan. `None`: as for `app`. */
  load?: string | null;
  /** For a row that the publication cut off where the server broke: where that was. */
  breaking?: BreakingPoints | null;
  /** Why nothing was measured for the row. `None`: something was. */
  missing?: MissingRow | null;
}

/** Where a server broke in a rising schedule. */
export interface BreakingPoints {
  /** In the publication: requests per second. */
  published_per_second: number;
  /** Here: requests per second. `None`: it did not break, or was not measured. */
  measured_per_second?: number | null;
}

/** Why a row has no measured figures. */
export type MissingRow =
  /** The run has no such case. */
  | "no_case"
  /** The run has the runtime with several apps or loads, and the row does not say which. */
  | "several_cases"
  /** The publication cut the row off where the server broke, and here it did not break. */
  | "did_not_break"
  /** No trial of the case counts. */
  | "no_trial";

/** One column of a table: its entries, and how well its orders agree. */
export interface ColumnComparison {
  /** Its name. */
  name: string;
  /** The unit of the publication. All values of the column are in it. */
  unit: string;
  /** Which values are better. `None`: the figure describes the test, and has no order. */
  better?: Better | null;
  /** A cell for each row. */
  entries: Cell[];
  /** The order of the rows of each load. Empty for a figure without an order. */
  orders: Order[];
}

/** Which values of a figure are better. */
export type Better =
  /** Lower ones: times, CPU, memory. */
  | "lower"
  /** Higher ones: throughput, the share of correct answers. */
  | "higher";

/** A published value beside the measured one. */
export interface Cell {
  /** The published value. `None`: the publication prints none. */
  published?: number | null;
  /** The measured value. */
  measured: CellValue;
  /**
   * Measured ÷ published. `None` where either is missing or the published value is 0. If the
   * measured value is a lower bound, so is the ratio.
   */
  ratio?: number | null;
}

/** A measured value, in the unit of its column. */
export type CellValue =
  /** The value over all rounds. */
  | {
    state: "exact";
    /** The value. */
    value: number;
    /** Its 95 % interval over rounds. `None` with fewer than three. */
    interval?: [number, number] | null;
  }
  /** A lower bound. */
  | {
    state: "at_least";
    /** The bound. */
    value: number;
  }
  /** The percentile falls on a failed request. */
  | {
    state: "failed";
  }
  /** Not measured. */
  | {
    state: "none";
  };

/** How well the published order of the rows of one load agrees with the measured one. */
export interface Order {
  /** The load in the plan. `None`: the run has only one, or the rows do not say. */
  load?: string | null;
  /** What follows. */
  verdict: OrderVerdict;
  /** The pairs by outcome. */
  counts: PairCounts;
  /**
   * Kendall's tau-b over the judged pairs. `None` where the verdict is none of the three about
   * agreement.
   */
  tau?: number | null;
  /** The pairs with a published order. */
  pairs: Pair[];
  /** The verdict as a sentence. */
  sentence: string;
}

/** How well an order agrees. */
export type OrderVerdict =
  /** At least nine in ten of the pairs that could be told apart agree. */
  | {
    is: "agrees";
  }
  /** More than half of them agree. */
  | {
    is: "partly_agrees";
  }
  /** At most half of them agree. */
  | {
    is: "disagrees";
  }
  /** Fewer than half of the pairs could be told apart. */
  | {
    is: "cannot_be_judged";
    /** Pairs that could be told apart. */
    told_apart: number;
    /** Pairs of which both were measured. */
    pairs: number;
  }
  /** Fewer than six pairs: there is no tau, only the pairs' outcomes. */
  | {
    is: "too_few_pairs";
  }
  /** No pair has a published order and was measured. */
  | {
    is: "no_pairs";
  };

/** The number of pairs of each outcome. */
export interface PairCounts {
  /** The same order here. */
  agree: number;
  /** The opposite order here. */
  disagree: number;
  /** No significant difference here. */
  no_difference: number;
  /** Fewer than three rounds have both. */
  too_few_rounds: number;
  /** One of the two was not measured. */
  not_measured: number;
}

/** Two rows that the publication puts in an order. */
export interface Pair {
  /** The row that is better in the publication, by index. */
  better: number;
  /** The other row, by index. */
  worse: number;
  /** What was found here. */
  outcome: PairOutcome;
  /** For a pair that disagrees: why, from evidence. `None`: there is no evidence. */
  reason?: string | null;
}

/** What was found of a pair here. */
export type PairOutcome =
  /** The same order. */
  | "agree"
  /** The opposite order. */
  | "disagree"
  /** No significant difference. */
  | "no_difference"
  /** Fewer than three rounds have both: a difference cannot be told from noise. */
  | "too_few_rounds"
  /** One of the two was not measured. */
  | "not_measured";

/** What a text says in numbers, beside what was measured. */
export interface ClaimComparison {
  /** The words of the publication. */
  text: string;
  /** The runtime that it is about. */
  runtime: string;
  /** How many times, as written. */
  written: string;
  /** How many times, as a range. */
  times: Times;
  /** One for each runtime that it is compared with, app and load. Empty: nothing was measured. */
  checks: ClaimCheck[];
  /** What follows, as sentences. */
  sentences: string[];
}

/** The range of ratios that a claim allows. An end that is `None` is open. */
export interface Times {
  /** The least ratio. */
  least: number | null;
  /** The greatest ratio. */
  most: number | null;
}

/** A claim about two runtimes under one load. */
export interface ClaimCheck {
  /** The runtime that it is compared with. */
  against: string;
  /** The app. */
  app: string;
  /** The load. */
  load: string;
  /** The measured ratio of throughputs. `None`: they have no common round. */
  ratio?: number | null;
  /** Its 95 % interval; those of all claims hold together. `None` with fewer than three rounds. */
  interval?: [number, number] | null;
  /** What follows. */
  outcome: ClaimOutcome;
  /** Both had the same budget. */
  equal_budgets: boolean;
}

/** Whether a claim survives. */
export type ClaimOutcome =
  /** The interval lies within the claimed range. */
  | "survives"
  /** The interval lies below the claimed range: the claim does not survive. */
  | "smaller"
  /** The interval lies above the claimed range: the difference is larger than claimed. */
  | "larger"
  /** The interval contains an end of the claimed range. */
  | "too_close_to_call"
  /** Fewer than three rounds. */
  | "too_few_rounds";

/** The answer for an app, in sentences. */
export interface Headline {
  /** The app's name. */
  app: string;
  /**
   * How the rows compare with the baseline. It has several lines if loads have separate
   * sentences.
   */
  text: string;
  /** Sentences that hold for all rows. */
  facts: string[];
}

/** Two versions of the apps, measured in the same rounds. */
export interface ComparedVersions {
  /** Label of the version that the working tree is compared with: `@main`. */
  base: string;
  /** One for each case of the working tree. */
  cases: VersionedCase[];
  /**
   * What the base shows when it is compared with itself, in sentences. Empty: it was measured
   * once.
   */
  noise: string[];
}

/** A case in both versions. */
export interface VersionedCase {
  /** Runtime, app and load: `nginx-fpm · shop · steady: const(200,10s)`. */
  title: string;
  /** Whether the working tree is slower, and how certain that is. */
  sentence: string;
  /** The figures that at least one version has. */
  figures: VersionedFigure[];
  /** Outcomes of expectations, why figures are not compared, why trials do not count. */
  notes: string[];
}

/** A figure in both versions, in words; the ratios also as numbers, to draw them. */
export interface VersionedFigure {
  /** The figure's title: `p95`. */
  title: string;
  /** Whether the sentence is about this figure. */
  is_primary: boolean;
  /** The base's figure. */
  base: string;
  /** The working tree's figure. */
  other: string;
  /** The ratio, or for a share the difference in points. Empty: the two are not compared. */
  change: string;
  /** Its 95 % interval. Empty: there is none. */
  interval: string;
  /** What follows. */
  result: string;
  /** The verdict as data. `None`: the two are not compared. */
  judged: Change | null;
  /** Working tree ÷ base. */
  ratio: Estimate | null;
  /** The base measured again ÷ the base. `None`: it was measured once, or has no such figure. */
  noise: Estimate | null;
  /**
   * The same in words, with its interval; of a share the difference in points. Empty: there is
   * none.
   */
  noise_text: string;
}

/** The verdict on a figure's change. */
export type Change =
  /** Worse by more than the margin, with statistical certainty. */
  | "worse"
  /** Better by more than the margin, with statistical certainty. */
  | "better"
  /** Within the margin, with statistical certainty. */
  | "equivalent"
  /** None of these can be claimed. */
  | "inconclusive"
  /** Fewer than three trials: a first impression. */
  | "too_few_rounds";

/** The percentiles of a case, over all planned requests of the trials that count. */
export interface Curve {
  /** The index of the case in `Summary::cases`. */
  case: number;
  /** Pairs of a percentile (0 to 100) and a time in µs, ascending. */
  points: ([number, number])[];
  /** The percentile from which on requests have no correct answer. `None`: all have one. */
  failed_from: number | null;
}

/** The evidence behind the figures, for readers who want to check them. */
export interface Evidence {
  /** The runtimes that started, in the plan's order. */
  runtimes: RuntimeEvidence[];
  /** Every case that has a trial that counts. */
  cases: CaseEvidence[];
  /** Every trial on disk. */
  trials: TrialEvidence[];
}

/** The evidence of a runtime: how it was started, and what was observed. */
export interface RuntimeEvidence {
  /** The index of its run in `Page::runs`. */
  run: number;
  /** The name of the runtime or the variant. */
  name: string;
  /** The title for people. */
  title: string;
  /** `per-request`, `worker` or `event-loop`. */
  mode: string;
  /** Maps each program to its version. */
  versions: Record<string, string>;
  /** The settings in force. */
  settings: Record<string, unknown>;
  /** The command lines that started it. */
  commands: string[];
  /** Pairs of a rendered file's name and its text. */
  files: ([string, string])[];
  /** What was observed of the runtime. `None`: it never answered. */
  observed: ObservedEvidence | null;
  /** How the runtime was isolated: pairs of a label and a value. */
  isolation: ([string, string])[];
}

/** Observed properties of a runtime. */
export interface ObservedEvidence {
  /** `PHP_VERSION`. */
  php_version: string;
  /** `PHP_SAPI`. */
  sapi: string;
  /** Whether PHP is thread-safe (ZTS) or not (NTS). */
  thread_safe: boolean;
  /** Whether OPcache is on in this SAPI. */
  opcache: boolean;
  /** Whether JIT is on in this SAPI. */
  jit: boolean;
  /** Number of workers that were observed. 0: not known. */
  workers: number;
  /** Loaded extensions. */
  extensions: string[];
  /** Maps each php.ini key to its value in force. */
  ini: Record<string, string>;
  /** Further observations for the reader. */
  notices: Observation[];
}

/** What a runtime showed of itself before load. */
export type Observation =
  /** State of one request was visible in a later one. */
  | {
    code: "visible_later";
    /** The kind of state: `class`, `constant`, `global` … */
    what: string;
    /** The same as a sentence in English. */
    text: string;
  }
  /** No worker answered twice, so it is not known whether state stays visible. */
  | {
    code: "isolation_not_shown";
    /** The same as a sentence in English. */
    text: string;
  }
  /** An extension that the app wants is not loaded. */
  | {
    code: "extension_missing";
    /** The extension's name. */
    extension: string;
    /** The same as a sentence in English. */
    text: string;
  }
  /** The app's answer changes from request to request. */
  | {
    code: "answer_changes";
    /** Whether the changing parts can be listed in `mask`. */
    can_be_masked: boolean;
    /** The same as a sentence in English. */
    text: string;
  }
  /**
   * The PHP that serves was asked what it is, on a start before the measured one. The measured
   * start has the same images, files of php.ini and programs.
   */
  | {
    code: "php_proven";
    /** The service that it runs in. */
    service: string;
    /** How it is known. */
    by: ProvenBy;
    /** The same as a sentence in English. */
    text: string;
  }
  /** A service beside the measured one was not healthy by the project's own check. */
  | {
    code: "never_healthy";
    /** The service. */
    service: string;
    /** The same as a sentence in English. */
    text: string;
  }
  /** Code that a project mounts comes from the images. */
  | {
    code: "code_in_images";
    /** Where a service has it from. */
    service: ServiceCode;
    /** The same as a sentence in English. */
    text: string;
  }
  /** It is not known which PHP serves. */
  | {
    code: "php_unproven";
    /** The reason. */
    why: Unproven;
    /** The same as a sentence in English. */
    text: string;
  }
  /** A sentence of a result of format 1, which had no codes. */
  | {
    code: "text";
    text: string;
  };

/** How it is known which PHP serves a project. */
export type ProvenBy =
  /** It answered a request to the project's page. */
  | "request"
  /** A process that serves wrote it when it began. */
  | "start";

/** Where a service has code from that the project mounts: paths in its container. */
export interface ServiceCode {
  /** The service. */
  service: string;
  /** What its image has itself. */
  own: string[];
  /** What an image has that was made for it, with a copy of the mounted code. */
  copied: string[];
  /** What stays mounted, since the image has a volume there. */
  mounted: string[];
}

/** The evidence of a case's figures: exhausted resources, Little's law, the pages. */
export interface CaseEvidence {
  /** The index of the case in `Summary::cases`. */
  case: number;
  /** Pairs of a label and a value. */
  figures: ([string, string])[];
}

/** The evidence of one trial. */
export interface TrialEvidence {
  /** The index of its run in `Page::runs`. */
  run: number;
  /** The trial's number in the run, counted from 1. */
  number: number;
  /** The round, counted from 1. */
  round: number;
  /** The index of its case in `Summary::cases`. -1: the summary has no such case. */
  case: number;
  /** The trial's verdict. */
  verdict: Validity;
  /** The reasons for the verdict. */
  reasons: Reason[];
  /** Notes that do not affect the verdict. */
  notes: Reason[];
  /** The phases: name, begin and end in ms since the trial began. */
  phases: ([string, number, number])[];
  /** The figures that the verdict is based on: pairs of a label and a value. */
  figures: ([string, string])[];
  /** Pairs of a kind of failure and a text with its meaning, count and seconds. */
  errors: ([string, string])[];
  /** Pairs of a log file and one of its lines that reports an error. */
  log_lines: ([string, string])[];
}

/** A file that the page offers for download. */
export interface Download {
  /** The suggested name. */
  name: string;
  /** MIME type. */
  type: string;
  /** The file's content. */
  text: string;
}
