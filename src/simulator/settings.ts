import { defaultScalingSettings, type ScalingSettings } from './scaling/settings.ts';
import { defaultTfaSettings, type TfaSettings } from './tfa/settings.ts';

/** `specification`: what is written there. `public`: as the public service answers. */
export type Profile = 'specification' | 'public';

/**
 * Every limit and figure that the specification leaves open, by name, with its default. A setting is part
 * of the world, so `PUT /sim/world` and `createSimulator({settings})` change it. Times are seconds of
 * simulated time unless the name says otherwise.
 */
export interface Settings {
  /** Boot of a rented machine (specification 3.1). */
  readonly boot: {
    /** Multiplies every boot figure below: 0.01 boots in a second or two. */
    readonly scale: number;
    /** From the rental until `loading` is seen. */
    readonly provisionSeconds: number;
    /** Shortest and longest pull of an image; each machine has its own seeded place between them. */
    readonly pullSeconds: readonly [number, number];
    /** From a start request until `running`. */
    readonly startSeconds: number;
    /** From a reboot or recycle until `running` again. */
    readonly rebootSeconds: number;
    /** From a stop request until `stopped` is seen. */
    readonly stopSeconds: number;
    /** Whether the public word `created` is shown between null and `loading`. */
    readonly showCreated: boolean;
    /** Whether a machine that was seen `exited`, `unknown` or `offline` never runs again (specification 3.1); true in the `specification` profile. */
    readonly lostForGood: boolean;
  };
  readonly billing: {
    /** Credit of a new user, dollars. */
    readonly initialCredit: number;
    /** Whether machines stop when the credit of their user reaches zero; false in the `specification` profile. */
    readonly stopAtZeroCredit: boolean;
    /** Least credit that a rental needs, dollars; at 0 some has to be left. Null, as in the `specification` profile: none is needed. */
    readonly minCreditToRent: number | null;
    /** Whether compute is billed while `exited`, `unknown` or `offline`; disk always is. */
    readonly computeWhileLost: boolean;
    /** Hours in a month, for prices per GB and month. */
    readonly hoursPerMonth: number;
  };
  readonly lists: {
    /** Seconds for which a new contract is missing from lists. */
    readonly lagSeconds: number;
    /** Rows of a page of the v1 list that asks for no limit. */
    readonly defaultPage: number;
    /** Most rows of a page, whatever is asked for. */
    readonly maxPage: number;
    /** Rows of a page whose limit is 0 or less. */
    readonly smallPage: number;
    /** Offers of a search that asks for no limit. */
    readonly searchDefault: number;
    /** Most offers of a search. */
    readonly searchMax: number;
    /** Where it is true the v0 list answers 410 and clients have to page the v1 list (`public` profile only: the specification knows no other list). */
    readonly v0Gone: boolean;
  };
  readonly limits: {
    /** Characters of `onstart` (specification section 8). */
    readonly onstart: number;
    /** Characters of `onstart` and `args` together. */
    readonly onstartAndArgs: number;
    /** Characters of a label given with a rental. */
    readonly labelAtRent: number;
    /** Characters of a label given later. */
    readonly label: number;
    /** Characters of `env` as JSON. */
    readonly env: number;
    /** Least disk of a rental, GB; 0 in the `specification` profile. */
    readonly minDiskGB: number;
    /** Whether a rental may ask for no more disk than its offer has; false in the `specification` profile, where no offer shows a disk. */
    readonly diskWithinOffer: boolean;
    /** Disk of a rental that names none, GB. */
    readonly defaultDiskGB: number;
    /** Offers that one bulk rental may name. */
    readonly bulkRent: number;
    /** Lowest bid, dollars an hour. */
    readonly minBid: number;
    /** Highest bid, dollars an hour. */
    readonly maxBid: number;
    /** Request bodies above this many bytes are refused with 413. */
    readonly bodyBytes: number;
    /** A request body that takes longer than this many real seconds is cut. */
    readonly bodyTimeoutSeconds: number;
  };
  /** Pause that each identity leaves between two calls of one endpoint, by class, seconds. */
  readonly pauses: {
    /** Multiplies every pause; 0, as in the `specification` profile, switches rate limits off. */
    readonly scale: number;
    /** Lists of instances. */
    readonly list: number;
    /** Reading one instance. */
    readonly get: number;
    /** Stop, start and label. */
    readonly change: number;
    /** Offer search: ten within the time of ten pauses (ten a minute), at once or spread. */
    readonly search: number;
    /** Destroying. */
    readonly destroy: number;
    /** Renting. */
    readonly rent: number;
    /** A new endpoint group. */
    readonly endpointGroup: number;
    /** Volumes. */
    readonly volume: number;
    /** Body of a 429: plain text, or JSON with `detail`. */
    readonly body: 'text' | 'json';
    /** Offer searches per identity and day (UTC); 0 is no quota. */
    readonly searchesPerDay: number;
  };
  readonly addresses: {
    /** First of the ports handed to running machines. */
    readonly portBase: number;
    /** How many ports there are to hand out. */
    readonly portCount: number;
    /** What `ssh_host` names; null is the machine's own address. */
    readonly sshProxyHost: string | null;
  };
  readonly market: {
    /** Seconds between two changes of bid prices; 0 keeps them. */
    readonly bidChangeSeconds: number;
    /** Largest move of a bid price per change, as a share. */
    readonly bidVolatility: number;
    /** Whether labels are kept and echoed (the `specification` profile shows none). */
    readonly keepLabels: boolean;
    /** How an absent instance reads: `{"instances": null}` or 404. */
    readonly absentRead: 'null' | '404';
  };
  readonly tfa: TfaSettings;
  /** Workers of endpoint groups. */
  readonly workers: ScalingSettings;
}

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
