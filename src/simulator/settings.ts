import * as z from 'zod';
import { amount, count, type Row } from './tables/row.ts';

const positive = z.number().gt(0);
const rows = z.int().min(1);
const port = z.int().min(1).max(65_535);

/** Figures behind endpoint groups that neither the specification nor the service shows. Times are seconds. */
export const scalingSettings = z.strictObject({
  /** How often the scaling rule runs. */
  tickSeconds: positive,
  /** Span over which arriving load is averaged. */
  rateSeconds: positive,
  /** Span whose highest rate steers the cold pool. */
  longSeconds: positive,
  /** How long the need for hot workers has to stay below what is hot before one is stopped. */
  scaleDownSeconds: amount,
  /** From `running` until a simulated worker has loaded its model; times `boot.scale`. */
  modelLoadSeconds: amount,
  /** Units of work per second of a simulated worker, per point of `dlperf`. */
  perfPerDlperf: positive,
  /** The same for a group that has no worker yet. */
  unknownPerf: positive,
  /** A worker whose reports stop for this long is simulated again, as one that never reported. */
  staleReportSeconds: amount,
  /** How long a request that `/route/` could not place stays queued unless it is asked for again. */
  queueSeconds: amount,
  /** Port on which workers listen, inside their container. */
  workerPort: z.int().min(1).max(65_535),
  /** Disk of a simulated worker whose template names none, GB. */
  workerDiskGB: positive,
  /** Whether deleting a worker group leaves its machines running, as the public service may. */
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
 * Every threshold of the 2FA rules. Those of specification 8 stand first; the rest is what the
 * specification leaves open (its section 8, last line), each with a documented default. Times are seconds
 * of simulated time.
 */
export const tfaSettings = z.strictObject({
  /** How long a challenge can be answered (specification 8: 10 minutes). */
  challengeSeconds: amount,
  /** How long a granted authorization lets methods be added (specification 8: 30 minutes). */
  authorizationSeconds: amount,
  /** How long a method stays locked (specification 8: 15 minutes). */
  lockoutSeconds: amount,
  /** Failed verifications of one method that lock it. */
  failuresBeforeLockout: z.int().min(1),
  /** A second SMS to one number within this span is `tfa_challenge_exists`; resend is the way. */
  recentSmsSeconds: amount,
  /** SMS codes one account may ask for within {@link smsWindowSeconds}, then `sms_rate_limited`. */
  smsPerWindow: count,
  smsWindowSeconds: amount,
  /** Authorization attempts that may name one phone number within {@link phoneCapSeconds}, then `preauth_phone_cap`. */
  phoneCap: count,
  phoneCapSeconds: amount,
  /** Methods of one type an account may have, then `duplicate_tfa_method`. */
  methodsPerType: count,
  /** Numbers whose messages the provider fails to deliver: `twilio_error`. */
  undeliverableNumbers: z.array(z.string()),
  /** Numbers whose verification the provider throttles: `twilio_rate_limited`. */
  throttledNumbers: z.array(z.string()),
  /** Numbers blocked for SMS pumping: `sms_blocked_number`. */
  blockedNumbers: z.array(z.string()),
  /** Time steps of 30 s a TOTP code may be off, either way (RFC 6238 5.2 recommends one). */
  totpWindow: z.int().min(0).max(100),
  /**
   * Whether a TOTP code is refused after it verified once (RFC 6238 5.2). Off by default, because public
   * clients repeat 2FA calls whose reply was lost and the specification names no such refusal.
   */
  totpSingleUse: z.boolean(),
  /** How long a session of a completed login lasts. */
  sessionSeconds: amount,
  /** Whether the plain key of an account with 2FA has to log in with a code before it may do anything. */
  requireLogin: z.boolean(),
  /** The store of authorizations does not answer: `service_unavailable`. */
  authorizationStoreDown: z.boolean(),
  /** An authorization (POST authorize-new-method) cannot create its challenge: `challenge_creation_failed`. */
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

/** How many backup codes are issued at a time (specification 8). */
export const BACKUP_CODES_PER_SET = 10;

/** `specification`: what is written there. `public`: as the public service answers. */
export type Profile = 'specification' | 'public';

/**
 * Every limit and figure that the specification leaves open, by name, with its default. A setting is part
 * of the world, so `PUT /sim/world` and `createSimulator({settings})` change it. Times are seconds of
 * simulated time unless the name says otherwise.
 */
export const settingsSchema = z.strictObject({
  /** Boot of a rented machine (specification 3.1). */
  boot: z.strictObject({
    /** Multiplies every boot figure below: 0.01 boots in a second or two. */
    scale: amount,
    /** From the rental until `loading` is seen. */
    provisionSeconds: amount,
    /** Shortest and longest pull of an image; each machine has its own seeded place between them. */
    pullSeconds: z
      .tuple([amount, amount], { error: 'a list of 2 numbers' })
      .refine(([shortest, longest]) => shortest <= longest, {
        error: 'a list of 2 numbers, the lower one first',
      }),
    /** From a start request until `running`. */
    startSeconds: amount,
    /** From a reboot or recycle until `running` again. */
    rebootSeconds: amount,
    /** From a stop request until `stopped` is seen. */
    stopSeconds: amount,
    /** Whether the public word `created` is shown between null and `loading`. */
    showCreated: z.boolean(),
    /** Whether a machine that was seen `exited`, `unknown` or `offline` never runs again (specification 3.1); true in the `specification` profile. */
    lostForGood: z.boolean(),
  }),
  billing: z.strictObject({
    /** Credit of a new user, dollars. */
    initialCredit: z.number(),
    /** Whether machines stop when the credit of their user reaches zero; false in the `specification` profile. */
    stopAtZeroCredit: z.boolean(),
    /** Minimum credit that a rental needs, dollars; at 0 some has to be left. Null, as in the `specification` profile: none is needed. */
    minCreditToRent: amount.nullable(),
    /** Whether compute is billed while `exited`, `unknown` or `offline`; disk always is. */
    computeWhileLost: z.boolean(),
    /** Hours in a month, for prices per GB and month. */
    hoursPerMonth: positive,
  }),
  lists: z.strictObject({
    /** Seconds for which a new contract is missing from lists. */
    lagSeconds: amount,
    /** Rows of a page of the v1 list that asks for no limit. */
    defaultPage: rows,
    /** Maximum number of rows of a page, whatever is asked for. */
    maxPage: rows,
    /** Rows of a page whose limit is 0 or less. */
    smallPage: rows,
    /** Offers of a search that asks for no limit. */
    searchDefault: rows,
    /** Maximum number of offers of a search. */
    searchMax: rows,
    /** Where it is true the v0 list answers 410 and clients have to page the v1 list (`public` profile only: the specification knows no other list). */
    v0Gone: z.boolean(),
  }),
  limits: z.strictObject({
    /** Characters of `onstart` (specification section 8). */
    onstart: count,
    /** Characters of `onstart` and `args` together. */
    onstartAndArgs: count,
    /** Characters of a label given with a rental. */
    labelAtRent: count,
    /** Characters of a label given later. */
    label: count,
    /** Characters of `env` as JSON. */
    env: count,
    /** Minimum disk of a rental, GB; 0 in the `specification` profile. */
    minDiskGB: amount,
    /** Whether a rental may ask for no more disk than its offer has; false in the `specification` profile, where no offer shows a disk. */
    diskWithinOffer: z.boolean(),
    /** Disk of a rental that names none, GB. */
    defaultDiskGB: amount,
    /** Offers that one bulk rental may name. */
    bulkRent: rows,
    /** Lowest bid, dollars an hour. */
    minBid: amount,
    /** Highest bid, dollars an hour. */
    maxBid: amount,
    /** Request bodies above this many bytes are refused with 413. */
    bodyBytes: rows,
    /** A request body that takes longer than this many real seconds is cut. */
    bodyTimeoutSeconds: positive,
  }),
  /** Pause that each identity leaves between two calls of one endpoint, by class, seconds. */
  pauses: z.strictObject({
    /** Multiplies every pause; 0, as in the `specification` profile, switches rate limits off. */
    scale: amount,
    /** Lists of instances. */
    list: amount,
    /** Reading one instance. */
    get: amount,
    /** Stop, start and label. */
    change: amount,
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
  /** What is not known of containers at the public service. */
  containers: z.strictObject({
    /** What `onstart` does in launch mode `args`: it replaces the image's entrypoint, or it is ignored. */
    argsOnstart: z.enum(['entrypoint', 'ignored']),
  }),
  market: z.strictObject({
    /** Seconds between two changes of bid prices; 0 keeps them. */
    bidChangeSeconds: amount,
    /** Largest move of a bid price per change, as a share. */
    bidVolatility: z.number().min(0).lt(1),
    /** Whether labels are kept and echoed (the `specification` profile shows none). */
    keepLabels: z.boolean(),
    /** How an absent instance reads: `{"instances": null}` or 404. */
    absentRead: z.enum(['null', '404']),
    /** Shortest and longest time in hours from the end of a listing until its host lists the offer again; null: never. */
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
    search: 6,
    destroy: 3,
    rent: 4.5,
    endpointGroup: 4,
    volume: 5.5,
    body: 'text',
    searchesPerDay: 0,
  },
  addresses: { portBase: 20_000, portCount: 40_000, sshProxyHost: null },
  containers: { argsOnstart: 'entrypoint' },
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

/** Where a profile begins with other settings than those above: the specification writes down no such limits. */
const PROFILE_SETTINGS: Readonly<Record<Profile, SettingsOverride>> = {
  public: {},
  specification: {
    boot: { lostForGood: true },
    billing: { stopAtZeroCredit: false, minCreditToRent: null },
    limits: { minDiskGB: 0, diskWithinOffer: false },
    pauses: { scale: 0 },
  },
};

/** What a fresh market of that profile begins with. */
export function settingsFor(profile: Profile, override: SettingsOverride | undefined): Settings {
  return withSettings(withSettings(defaultSettings, PROFILE_SETTINGS[profile]), override);
}

/** Some settings, group by group; the rest keeps its default. */
export type SettingsOverride = { readonly [G in keyof Settings]?: Partial<Settings[G]> };

/** The given settings with those of `override` in their place. */
export function withSettings(base: Settings, override: SettingsOverride | undefined): Settings {
  if (!override) return base;
  const merged: Record<string, unknown> = { ...base };
  for (const [group, values] of Object.entries(override)) {
    merged[group] = { ...(merged[group] as object | undefined), ...values };
  }
  return merged as unknown as Settings;
}
