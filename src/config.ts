import {
  type Config,
  OPTIONS,
  type OptionName,
  type OptionSpec,
  type ParsedOptions,
} from './config/options.ts';
import { PICKER_OPTIONS, type PickerConfig } from './config/picker-options.ts';
import { isLoopbackHost } from './config/values.ts';
import { defaultConstants, SHORTEST_RENT_CALL_MS } from './ownership/constants.ts';
import { RETRY_JITTER } from './runtime/lease/leader-election.ts';

/** An invalid setting; the message names each flag and the value to write. */
export class ConfigError extends Error {
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/** Typed values by option name. */
export type RawOptions = Readonly<Partial<Record<OptionName, string | readonly string[] | boolean>>>;

/** Typed values of the picker by option name. */
export type RawPickerOptions = Readonly<
  Partial<Record<keyof typeof PICKER_OPTIONS, string | readonly string[] | boolean>>
>;

/** Returns the flag of an option: `lateCall` → `--late-call`. */
export function flagName(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** Returns the variable of an option: `lateCall` → `GPU_RENTAL_LATE_CALL`. */
export function variableName(name: string): string {
  return `GPU_RENTAL_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

/**
 * Returns the operator's settings. A flag overrides its environment variable, which overrides the default. Lists are
 * separated by commas in the environment. Throws a {@link ConfigError} that names every invalid value.
 */
export function parseConfig(flags: RawOptions, environment: Environment): Config {
  return parseOptions(OPTIONS, { flags, environment, contradictions });
}

/**
 * Returns the settings of `gpu-rent endpoint-picker`, by the same rules. Throws a {@link ConfigError} that names every
 * invalid value.
 */
export function parsePickerConfig(flags: RawPickerOptions, environment: Environment): PickerConfig {
  return parseOptions(PICKER_OPTIONS, {
    flags,
    environment,
    contradictions: (config) => brokenRules(PICKER_CONTRADICTIONS, config),
  });
}

type Environment = Readonly<Record<string, string | undefined>>;

interface Typed<Specs extends Readonly<Record<string, OptionSpec>>> {
  readonly flags: Readonly<Record<string, Given['flag']>>;
  readonly environment: Environment;
  readonly contradictions: (config: ParsedOptions<Specs>) => readonly string[];
}

function parseOptions<Specs extends Readonly<Record<string, OptionSpec>>>(
  specs: Specs,
  { flags, environment, contradictions: contradict }: Typed<Specs>,
): ParsedOptions<Specs> {
  const problems: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, spec] of Object.entries<OptionSpec>(specs)) {
    const given = { flag: flags[name], variable: environment[variableName(name)] };
    const parsed = textsOf(spec, given).map((text) => parseOne({ name, spec, text, problems }));
    values[name] = spec.list ? Object.freeze(parsed) : parsed[0];
  }
  // Each key of the specs was set to the output of its own schema above.
  const config = Object.freeze(values) as ParsedOptions<Specs>;
  if (problems.length === 0) problems.push(...contradict(config));
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

interface Given {
  readonly flag: string | readonly string[] | boolean | undefined;
  readonly variable: string | undefined;
}

function textsOf(spec: OptionSpec, { flag, variable }: Given): readonly string[] {
  const fromFlag = typeof flag === 'boolean' ? String(flag) : flag;
  const fromVariable = variable === '' ? undefined : spec.list ? variable?.split(',') : variable;
  const chosen = fromFlag ?? fromVariable ?? spec.defaultValue ?? [];
  return typeof chosen === 'string' ? [chosen] : chosen;
}

function parseOne(input: {
  readonly name: string;
  readonly spec: OptionSpec;
  readonly text: string;
  readonly problems: string[];
}): unknown {
  const result = input.spec.value.safeParse(input.text.trim());
  if (result.success) return result.data;
  const remedy = result.error.issues.map((issue) => issue.message).join(', ');
  const { name, text } = input;
  input.problems.push(`${flagName(name)} (${variableName(name)}): "${text}" is not valid: ${remedy}`);
  return undefined;
}

/** Minimum remaining time of a lease when a rental begins: the shortest call and its margin. */
const ROOM_TO_RENT_MS = SHORTEST_RENT_CALL_MS + defaultConstants.leaseMarginMs;

/** Labels that the ledger keeps of an object. */
const MAX_LEDGER_LABELS = 4;

interface Contradiction<Settings> {
  readonly isBroken: (config: Settings) => boolean;
  readonly message: string;
}

const CONTRADICTIONS: readonly Contradiction<Config>[] = [
  {
    isBroken: (config) => config.marketplaceUrl.length === 0,
    message: '--marketplace-url: name at least one marketplace',
  },
  {
    isBroken: (config) => config.leaderElectRenewDeadline >= config.leaderElectLeaseDuration,
    message: '--leader-elect-renew-deadline: write less than --leader-elect-lease-duration',
  },
  {
    isBroken: (config) => config.leaderElectRetryPeriod * RETRY_JITTER >= config.leaderElectRenewDeadline,
    message: `--leader-elect-retry-period: write less than --leader-elect-renew-deadline divided by ${RETRY_JITTER}`,
  },
  {
    isBroken: (config) => config.leaderElectLeaseDuration < config.leaderElectRetryPeriod + ROOM_TO_RENT_MS,
    message: `--leader-elect-lease-duration: write at least ${ROOM_TO_RENT_MS / 1000}s more than --leader-elect-retry-period, since nothing is rented or destroyed just before a lease ends`,
  },
  {
    isBroken: ({ ledgerLabels }) => ledgerLabels.length > MAX_LEDGER_LABELS,
    message: `--ledger-labels: name at most ${MAX_LEDGER_LABELS} labels, since each one lengthens every line of the ledger`,
  },
  {
    isBroken: (config) => config.addressMap.length > 0 && !onlyLoopback(config.marketplaceUrl),
    message: '--address-map: leave it out unless every --marketplace-url is on loopback (a simulator)',
  },
  {
    isBroken: (config) => config.pacing === 'off' && !onlyLoopback(config.marketplaceUrl),
    message: '--pacing: off is refused unless every --marketplace-url is on loopback (a simulator)',
  },
  {
    isBroken: ({ prometheusCa, prometheusUrl }) =>
      prometheusCa !== undefined && prometheusUrl?.startsWith('https:') !== true,
    message: '--prometheus-ca: leave it out unless --prometheus-url is an https address',
  },
  {
    isBroken: ({ gatewayReports, metricsBindAddress }) =>
      gatewayReports !== 'off' && metricsBindAddress.type === 'off',
    message:
      '--gateway-reports: reports are received at --metrics-bind-address; write an address there, not 0',
  },
  {
    isBroken: ({ workerReportUrl, workerReportBindAddress }) =>
      workerReportUrl !== undefined && workerReportBindAddress.type === 'off',
    message: '--worker-report-url: write it together with --worker-report-bind-address',
  },
  {
    isBroken: ({ logBindAddress, logTlsDirectory }) =>
      (logBindAddress.type === 'on') !== (logTlsDirectory !== undefined),
    message:
      '--log-bind-address: write it together with --log-tls-directory, since callers send their tokens there',
  },
  {
    isBroken: (config) => config.scalingSpeed > 1 && !onlyLoopback(config.marketplaceUrl),
    message: '--scaling-speed: leave it at 1 unless every --marketplace-url is on loopback (a simulator)',
  },
];

const PICKER_CONTRADICTIONS: readonly Contradiction<PickerConfig>[] = [
  {
    isBroken: ({ group, envoy, printEnvoyConfig, envoyAdminSocket }) =>
      group !== undefined && (envoy !== undefined || printEnvoyConfig || envoyAdminSocket !== undefined),
    message:
      '--group: leave out --envoy, --envoy-admin-socket and --print-envoy-config, which are for our own Envoy',
  },
  {
    isBroken: ({ group, tlsDirectory }) => group === undefined && tlsDirectory !== undefined,
    message: '--tls-directory: our own Envoy calls without TLS; write it with --group',
  },
  {
    isBroken: ({ group, watchNamespace }) => group !== undefined && watchNamespace.length > 0,
    message: '--watch-namespace: leave it out with --group, which names the namespace',
  },
  {
    isBroken: ({ bindAddress, pickerAddress, printEnvoyConfig }) =>
      bindAddress.port === 0 && pickerAddress === undefined && printEnvoyConfig,
    message: '--bind-address: write a port that Envoy can be configured with, not 0',
  },
  {
    isBroken: ({ pickerAddress, printEnvoyConfig }) => pickerAddress !== undefined && !printEnvoyConfig,
    message:
      '--picker-address: write it with --print-envoy-config; where this process listens is --bind-address',
  },
  {
    isBroken: ({ pickerAddress }) => pickerAddress?.host === '' || pickerAddress?.port === 0,
    message: '--picker-address: write the host and the port that Envoy calls',
  },
  {
    isBroken: ({ envoy, envoyAdminSocket }) => envoy !== undefined && envoyAdminSocket !== undefined,
    message: '--envoy-admin-socket: leave it out with --envoy, which has a socket of its own',
  },
];

function contradictions(config: Config): readonly string[] {
  return brokenRules(CONTRADICTIONS, config);
}

function brokenRules<Settings>(
  rules: readonly Contradiction<Settings>[],
  config: Settings,
): readonly string[] {
  return rules.filter((rule) => rule.isBroken(config)).map((rule) => rule.message);
}

function onlyLoopback(urls: readonly string[]): boolean {
  return urls.every((url) => isLoopbackHost(new URL(url).hostname));
}
