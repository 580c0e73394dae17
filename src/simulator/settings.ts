import * as z from 'zod';
import { defaultScalingSettings, scalingSettings } from './scaling/settings.ts';
import { amount, count, type Row } from './tables/row.ts';
import { defaultTfaSettings, tfaSettings } from './tfa/settings.ts';

const positive = z.number().gt(0);
const rows = z.int().min(1);
const port = z.int().min(1).max(65_535);

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
  market: z.strictObject({
    /** Seconds between two changes of bid prices; 0 keeps them. */
    bidChangeSeconds: amount,
    /** Largest move of a bid price per change, as a share. */
    bidVolatility: z.number().min(0).lt(1),
    /** Whether labels are kept and echoed (the `specification` profile shows none). */
    keepLabels: z.boolean(),
    /** How an absent instance reads: `{"instances": null}` or 404. */
    absentRead: z.enum(['null', '404']),
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
  market: { bidChangeSeconds: 0, bidVolatility: 0.1, keepLabels: true, absentRead: 'null' },
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
