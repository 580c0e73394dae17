import * as z from 'zod';
import type { ScalingSettings } from './scaling/settings.ts';
import type { Settings } from './settings.ts';
import type { TfaSettings } from './tfa/settings.ts';

/* What settings from outside (`PUT /sim/world`) have to look like. PURE. */

const amount = z.number().min(0);
const positive = z.number().gt(0);
const count = z.int().min(0);
const rows = z.int().min(1);
const port = z.int().min(1).max(65_535);
const texts = z.array(z.string());

const tfa = z.strictObject({
  challengeSeconds: amount,
  authorizationSeconds: amount,
  lockoutSeconds: amount,
  failuresBeforeLockout: rows,
  recentSmsSeconds: amount,
  smsPerWindow: count,
  smsWindowSeconds: amount,
  phoneCap: count,
  phoneCapSeconds: amount,
  methodsPerType: count,
  undeliverableNumbers: texts,
  throttledNumbers: texts,
  blockedNumbers: texts,
  totpWindow: z.int().min(0).max(100),
  totpSingleUse: z.boolean(),
  sessionSeconds: amount,
  requireLogin: z.boolean(),
  authorizationStoreDown: z.boolean(),
  challengeStoreDown: z.boolean(),
}) satisfies z.ZodType<TfaSettings>;

const workers = z.strictObject({
  tickSeconds: positive,
  rateSeconds: positive,
  longSeconds: positive,
  scaleDownSeconds: amount,
  modelLoadSeconds: amount,
  perfPerDlperf: positive,
  unknownPerf: positive,
  staleReportSeconds: amount,
  queueSeconds: amount,
  workerPort: port,
  workerDiskGB: positive,
  keepWorkersOfDeletedGroup: z.boolean(),
}) satisfies z.ZodType<ScalingSettings>;

/** Every setting with its type and bounds; nothing else is one. */
export const settingsShape = z.strictObject({
  boot: z.strictObject({
    scale: amount,
    provisionSeconds: amount,
    pullSeconds: z
      .tuple([amount, amount], { error: 'a list of 2 numbers' })
      .refine(([shortest, longest]) => shortest <= longest, {
        error: 'a list of 2 numbers, the lower one first',
      }),
    startSeconds: amount,
    rebootSeconds: amount,
    stopSeconds: amount,
    showCreated: z.boolean(),
    lostForGood: z.boolean(),
  }),
  billing: z.strictObject({
    initialCredit: z.number(),
    stopAtZeroCredit: z.boolean(),
    minCreditToRent: amount.nullable(),
    computeWhileLost: z.boolean(),
    hoursPerMonth: positive,
  }),
  lists: z.strictObject({
    lagSeconds: amount,
    defaultPage: rows,
    maxPage: rows,
    smallPage: rows,
    searchDefault: rows,
    searchMax: rows,
    v0Gone: z.boolean(),
  }),
  limits: z.strictObject({
    onstart: count,
    onstartAndArgs: count,
    labelAtRent: count,
    label: count,
    env: count,
    minDiskGB: amount,
    diskWithinOffer: z.boolean(),
    defaultDiskGB: amount,
    bulkRent: rows,
    minBid: amount,
    maxBid: amount,
    bodyBytes: rows,
    bodyTimeoutSeconds: positive,
  }),
  pauses: z.strictObject({
    scale: amount,
    list: amount,
    get: amount,
    change: amount,
    search: amount,
    destroy: amount,
    rent: amount,
    endpointGroup: amount,
    volume: amount,
    body: z.enum(['text', 'json']),
    searchesPerDay: count,
  }),
  addresses: z
    .strictObject({ portBase: port, portCount: rows, sshProxyHost: z.string().nullable() })
    .refine(({ portBase, portCount }) => portBase + portCount <= 65_536, {
      error: 'such that portBase and portCount together stay within the 65,535 ports that there are',
    }),
  market: z.strictObject({
    bidChangeSeconds: amount,
    bidVolatility: z.number().min(0).lt(1),
    keepLabels: z.boolean(),
    absentRead: z.enum(['null', '404']),
  }),
  tfa,
  workers,
}) satisfies z.ZodType<Settings>;
