import * as z from 'zod';
import { amount, count, type Row } from './tables/row.ts';

const positive = z.number().gt(0);
const rows = z.int().min(1);
const port = z.int().min(1).max(65_535);

/** Figures of endpoint groups that neither the specification nor the service documents. Times are seconds. */
export const scalingSettings = z.strictObject({
  /** Interval of the scaling rule. */
  tickSeconds: positive,
  /** Span over which arriving load is averaged. */
  rateSeconds: positive,
  /** Span whose highest rate determines the cold pool. */
  longSeconds: positive,
  /** Time for which the need for hot workers must stay below the present number before one is stopped. */
  scaleDownSeconds: amount,
  /** Time from `running` until a simulated worker has loaded its model; times `boot.scale`. */
  modelLoadSeconds: amount,
  /** Units of work per second of a simulated worker, per point of `dlperf`. */
  perfPerDlperf: positive,
  /** Units per second for a group that has no worker yet. */
  unknownPerf: positive,
  /** Time without reports after which a worker is simulated again, like one that never reported. */
  staleReportSeconds: amount,
  /** Time for which a request without a worker stays queued unless it is repeated. */
  queueSeconds: amount,
  /** Port on which workers listen, inside their container. */
  workerPort: z.int().min(1).max(65_535),
  /** Disk of a simulated worker whose template names none, GB. */
  workerDiskGB: positive,
  /** True if deleting a worker group leaves its machines running, as the public service may. */
  keepWorkersOfDeletedGroup: z.boolean(),
});
export type ScalingSettings = Row<typeof scalingSettings>;

export const defaultScalingSettings: ScalingSettings = {
  tickSeconds: 10,
  rateSeconds: 60,
  longSeconds: 3600,
  scaleDownSeconds: 120,
  modelLoadSeconds: 20,
  perfPerDlperf: 1,
  unknownPerf: 100,
  staleReportSeconds: 90,
  queueSeconds: 60,
  workerPort: 3000,
  workerDiskGB: 16,
  keepWorkersOfDeletedGroup: true,
};

/**
 * All thresholds of the 2FA rules. Those of specification 8 come first; the others are left open by the specification
 * (its section 8, last line) and have documented defaults. Times are seconds of simulated time.
 */
export const tfaSettings = z.strictObject({
  /** Lifetime of a challenge (specification 8: 10 minutes). */
  challengeSeconds: amount,
  /** Time for which an authorization allows methods to be added (specification 8: 30 minutes). */
  authorizationSeconds: amount,
  /** Duration of a lockout of a method (specification 8: 15 minutes). */
  lockoutSeconds: amount,
  /** Failed verifications of one method that lock it. */
  failuresBeforeLockout: z.int().min(1),
  /** Span within which a second SMS to one number is `tfa_challenge_exists`; clients use resend. */
  recentSmsSeconds: amount,
  /** Maximum SMS codes of an account within {@link smsWindowSeconds}, then `sms_rate_limited`. */
  smsPerWindow: count,
  smsWindowSeconds: amount,
  /** Maximum authorization attempts for one phone number within {@link phoneCapSeconds}, then `preauth_phone_cap`. */
  phoneCap: count,
  phoneCapSeconds: amount,
  /** Maximum methods of one type per account, then `duplicate_tfa_method`. */
  methodsPerType: count,
  /** Numbers whose messages the provider fails to deliver: `twilio_error`. */
  undeliverableNumbers: z.array(z.string()),
  /** Numbers whose verification the provider throttles: `twilio_rate_limited`. */
  throttledNumbers: z.array(z.string()),
  /** Numbers blocked for SMS pumping: `sms_blocked_number`. */
  blockedNumbers: z.array(z.string()),
  /** Time steps of 30 s by which a TOTP code may differ, either way (RFC 6238 5.2 recommends one). */
  totpWindow: z.int().min(0).max(100),
  /**
   * True if a TOTP code is refused after it verified once (RFC 6238 5.2). Off by default, because public clients repeat
   * 2FA calls whose reply was lost and the specification has no such refusal.
   */
  totpSingleUse: z.boolean(),
  /** Duration of a session of a completed login. */
  sessionSeconds: amount,
  /** True if the plain key of an account with 2FA must log in with a code before any other call. */
  requireLogin: z.boolean(),
  /** True if the store of authorizations is down: `service_unavailable`. */
  authorizationStoreDown: z.boolean(),
  /** True if an authorization (POST authorize-new-method) cannot create its challenge: `challenge_creation_failed`. */
  challengeStoreDown: z.boolean(),
});
export type TfaSettings = Row<typeof tfaSettings>;

export const defaultTfaSettings: TfaSettings = {
  challengeSeconds: 600,
  authorizationSeconds: 1800,
  lockoutSeconds: 900,
  failuresBeforeLockout: 5,
  recentSmsSeconds: 60,
  smsPerWindow: 5,
  smsWindowSeconds: 600,
  phoneCap: 10,
  phoneCapSeconds: 86_400,
  methodsPerType: 5,
  undeliverableNumbers: ['+15005550009'],
  throttledNumbers: ['+15005550003'],
  blockedNumbers: ['+15005550004'],
  totpWindow: 1,
  totpSingleUse: false,
  sessionSeconds: 604_800,
  requireLogin: false,
  authorizationStoreDown: false,
  challengeStoreDown: false,
};

/** Number of backup codes in a set (specification 8). */
export const BACKUP_CODES_PER_SET = 10;

/** `specification`: only documented behaviour. `public`: the answers of the public service. */
export type Profile = 'specification' | 'public';

/**
 * Every limit and figure that the specification leaves open, by name, with its default. A setting is part of the world,
 * so `PUT /sim/world` and `createSimulator({settings})` change it. Times are seconds of simulated time unless the name
 * differs.
 */
export const settingsSchema = z.strictObject({
  /** Boot of a rented machine (specification 3.1). */
  boot: z.strictObject({
    /** Factor of every boot time below: 0.01 boots in a second or two. */
    scale: amount,
    /** Time from the rental until `loading` is shown. */
    provisionSeconds: amount,
    /** Minimum and maximum time to pull an image; each machine has its own seeded value between them. */
    pullSeconds: z
      .tuple([amount, amount], { error: 'a list of 2 numbers' })
      .refine(([shortest, longest]) => shortest <= longest, {
        error: 'a list of 2 numbers, the lower one first',
      }),
    /** Time from a start request until `running`. */
    startSeconds: amount,
    /** Time from a reboot or recycle until `running` again. */
    rebootSeconds: amount,
    /** Time from a stop request until `stopped` is shown. */
    stopSeconds: amount,
    /** True if the public word `created` is shown between null and `loading`. */
    showCreated: z.boolean(),
    /**
     * True if a machine that was shown as `exited`, `unknown` or `offline` never runs again (specification 3.1); true
     * in the `specification` profile.
     */
    lostForGood: z.boolean(),
  }),
  billing: z.strictObject({
    /** Credit of a new user, dollars. */
    initialCredit: z.number(),
    /** True if machines stop when the credit of their user reaches zero; false in the `specification` profile. */
    stopAtZeroCredit: z.boolean(),
    /**
     * Minimum credit for a rental, dollars; at 0 some must be left. Null, as in the `specification` profile: none is
     * needed.
     */
    minCreditToRent: amount.nullable(),
    /** True if compute is billed while `unknown` or `offline`; disk always is. */
    computeWhileLost: z.boolean(),
    /** True if compute is billed while `exited`; disk always is. */
    exitedBills: z.boolean(),
    /** Hours in a month, for prices per GB and month. */
    hoursPerMonth: positive,
  }),
  lists: z.strictObject({
    /** Seconds for which a new contract is missing from lists. */
    lagSeconds: amount,
    /** Default rows of a page of the v1 list. */
    defaultPage: rows,
    /** Maximum rows of a page. */
    maxPage: rows,
    /** Rows of a page whose limit is 0 or less. */
    smallPage: rows,
    /** Default offers of a search. */
    searchDefault: rows,
    /** Maximum number of offers of a search. */
    searchMax: rows,
    /**
     * True if the v0 list answers 410 and clients must page the v1 list (`public` profile only: the specification knows
     * no other list).
     */
    v0Gone: z.boolean(),
  }),
  limits: z.strictObject({
    /** Characters of `onstart` (specification section 8). */
    onstart: count,
    /** Characters of `onstart` and `args` together. */
    onstartAndArgs: count,
    /** Maximum characters of a label in a rental. */
    labelAtRent: count,
    /** Maximum characters of a label that is set later. */
    label: count,
    /** Characters of `env` as JSON. */
    env: count,
    /** Characters of a command for the files of a machine. */
    command: count,
    /** Maximum number of rented machines that are not destroyed, stopped ones included; null: no limit. */
    machines: rows.nullable(),
    /** Minimum disk of a rental, GB; 0 in the `specification` profile. */
    minDiskGB: amount,
    /**
     * True if a rental may request no more disk than its offer has; false in the `specification` profile, if no offer
     * shows a disk.
     */
    diskWithinOffer: z.boolean(),
    /** Default disk of a rental, GB. */
    defaultDiskGB: amount,
    /** Maximum offers of one bulk rental. */
    bulkRent: rows,
    /** Lowest bid, dollars an hour. */
    minBid: amount,
    /** Highest bid, dollars an hour. */
    maxBid: amount,
    /** Maximum bytes of a request body; larger ones are refused with 413. */
    bodyBytes: rows,
    /** Maximum real seconds of a request body. */
    bodyTimeoutSeconds: positive,
  }),
  /** Minimum pause between two calls of one endpoint by one identity, by class, seconds. */
  pauses: z.strictObject({
    /** Factor of every pause; 0, as in the `specification` profile, disables rate limits. */
    scale: amount,
    /** Lists of instances. */
    list: amount,
    /** Reading one instance. */
    get: amount,
    /** Stop, start and label. */
    change: amount,
    /** `ls`, `rm` and `du` on the files of a machine. */
    command: amount,
    /** Offer search: ten within the time of ten pauses (ten a minute), at once or spread. */
    search: amount,
    /** Destroying. */
    destroy: amount,
    /** Renting. */
    rent: amount,
    /** A new endpoint group. */
    endpointGroup: amount,
    /** Volumes. */
    volume: amount,
    /** Body of a 429: plain text, or JSON with `detail`. */
    body: z.enum(['text', 'json']),
    /** Offer searches per identity and day (UTC); 0 is no quota. */
    searchesPerDay: count,
  }),
  addresses: z
    .strictObject({ portBase: port, portCount: rows, sshProxyHost: z.string().nullable() })
    .refine(({ portBase, portCount }) => portBase + portCount <= 65_536, {
      error: 'such that portBase and portCount together stay within the 65,535 ports that there are',
    }),
  /** Properties of containers at the public service that are not documented. */
  containers: z.strictObject({
    /** Effect of `onstart` in launch mode `args`: it replaces the image's entrypoint, or is ignored. */
    argsOnstart: z.enum(['entrypoint', 'ignored']),
    /** True if the log of a container shows what `onstart` prints. */
    onstartInLog: z.boolean(),
    /** True if the log of a stopped machine can be read. */
    logsWhenStopped: z.boolean(),
    /** Part of a log that the service does not show when the log is longer than 4,096 characters. */
    logTruncated: z.enum(['never', 'begin', 'end']),
    /** True if the service starts a container again after its program ended. */
    exitedRestarts: z.boolean(),
    /** Form of paths that the command door serves: `absolute`, `relative` to the container's root, or `both`. */
    commandPaths: z.enum(['absolute', 'relative', 'both']),
    /**
     * True if images have a program with which a start script calls the marketplace. Only modelled machines depend on
     * it.
     */
    imageHasClient: z.boolean(),
    /** Real seconds from SIGTERM to SIGKILL when a machine stops that runs as processes. */
    stopGraceSeconds: amount,
  }),
  /** Rights of the restricted key of an instance that are not documented, or documented in two ways. */
  keys: z.strictObject({
    /** True if the key of an instance reads the row of its own instance. */
    ownKeyReads: z.boolean(),
    /** True if the key of an instance stays valid after the key that rented the instance is revoked. */
    instanceKeyOutlivesAccountKey: z.boolean(),
  }),
  market: z.strictObject({
    /** Seconds between two changes of bid prices; 0 disables them. */
    bidChangeSeconds: amount,
    /** Largest move of a bid price per change, as a share. */
    bidVolatility: z.number().min(0).lt(1),
    /** True if labels are kept and echoed (the `specification` profile shows none). */
    keepLabels: z.boolean(),
    /** Reply to a read of an absent instance: `{"instances": null}` or 404. */
    absentRead: z.enum(['null', '404']),
    /** Minimum and maximum hours from the end of a listing until its host lists the offer again; null: never. */
    relistHours: z.tuple([amount, amount]).nullable(),
  }),
  tfa: tfaSettings,
  /** Workers of endpoint groups. */
  workers: scalingSettings,
});

export type Settings = Row<typeof settingsSchema>;

/** Defaults of the standalone process. In-process users usually pass `boot.scale` and `pauses.scale` too. */
export const defaultSettings: Settings = {
  boot: {
    scale: 1,
    provisionSeconds: 8,
    pullSeconds: [60, 240],
    startSeconds: 20,
    rebootSeconds: 15,
    stopSeconds: 0,
    showCreated: true,
    lostForGood: false,
  },
  billing: {
    initialCredit: 1000,
    stopAtZeroCredit: true,
    minCreditToRent: 0,
    computeWhileLost: true,
    exitedBills: true,
    hoursPerMonth: 730,
  },
  lists: {
    lagSeconds: 0,
    defaultPage: 25,
    maxPage: 25,
    smallPage: 5,
    searchDefault: 64,
    searchMax: 10_000,
    v0Gone: false,
  },
  limits: {
    onstart: 4048,
    onstartAndArgs: 4096,
    labelAtRent: 256,
    label: 1024,
    env: 32_768,
    command: 512,
    machines: null,
    minDiskGB: 8,
    diskWithinOffer: true,
    defaultDiskGB: 10,
    bulkRent: 64,
    minBid: 0.001,
    maxBid: 128,
    bodyBytes: 1_048_576,
    bodyTimeoutSeconds: 10,
  },
  pauses: {
    scale: 1,
    list: 1,
    get: 2,
    change: 1,
    command: 1.5,
    search: 6,
    destroy: 3,
    rent: 4.5,
    endpointGroup: 4,
    volume: 5.5,
    body: 'text',
    searchesPerDay: 0,
  },
  addresses: { portBase: 20_000, portCount: 40_000, sshProxyHost: null },
  containers: {
    argsOnstart: 'entrypoint',
    onstartInLog: true,
    logsWhenStopped: true,
    logTruncated: 'never',
    exitedRestarts: false,
    commandPaths: 'both',
    imageHasClient: true,
    stopGraceSeconds: 10,
  },
  keys: { ownKeyReads: false, instanceKeyOutlivesAccountKey: true },
  market: {
    bidChangeSeconds: 0,
    bidVolatility: 0.1,
    keepLabels: true,
    absentRead: 'null',
    relistHours: [1, 96],
  },
  tfa: defaultTfaSettings,
  workers: defaultScalingSettings,
};

/** Settings of a profile that differ from the defaults above: the specification documents no such limits. */
const PROFILE_SETTINGS: Readonly<Record<Profile, SettingsOverride>> = {
  public: {},
  specification: {
    boot: { lostForGood: true },
    billing: { stopAtZeroCredit: false, minCreditToRent: null },
    limits: { minDiskGB: 0, diskWithinOffer: false },
    pauses: { scale: 0 },
  },
};

/** Returns the settings of a new market of that profile. */
export function settingsFor(profile: Profile, override: SettingsOverride | undefined): Settings {
  return withSettings(withSettings(defaultSettings, PROFILE_SETTINGS[profile]), override);
}

/** Some settings, group by group; the others keep their defaults. */
export type SettingsOverride = { readonly [G in keyof Settings]?: Partial<Settings[G]> };

/** Returns the given settings with those of `override` in their place. */
export function withSettings(base: Settings, override: SettingsOverride | undefined): Settings {
  if (!override) return base;
  const merged: Record<string, unknown> = { ...base };
  for (const [group, values] of Object.entries(override)) {
    merged[group] = { ...(merged[group] as object | undefined), ...values };
  }
  return merged as unknown as Settings;
}
