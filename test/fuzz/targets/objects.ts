import type * as z from 'zod';
import { avoidOf } from '../../../src/accounts/avoid-list.ts';
import { breakerOf } from '../../../src/accounts/breaker.ts';
import { pollIntervalOf } from '../../../src/accounts/connection.ts';
import { deletedSumsOf } from '../../../src/accounts/spend-limits.ts';
import { endpointGroupStatus } from '../../../src/api/v1alpha1/endpoint-group.ts';
import { endpointGroupForm } from '../../../src/api/v1alpha1/endpoint-group-form.ts';
import { endpointGroupSpec } from '../../../src/api/v1alpha1/endpoint-group-spec.ts';
import {
  type GpuInstance,
  gpuInstanceSpec,
  gpuInstanceStatus,
} from '../../../src/api/v1alpha1/gpu-instance.ts';
import { gpuInstanceForm } from '../../../src/api/v1alpha1/gpu-instance-form.ts';
import {
  type MarketplaceAccount,
  marketplaceAccountSpec,
  marketplaceAccountStatus,
} from '../../../src/api/v1alpha1/marketplace-account.ts';
import { API_VERSION, annotations } from '../../../src/api/v1alpha1/names.ts';
import { decodeStatus, encodeStatus, type StatusForm } from '../../../src/api/v1alpha1/record.ts';
import { summarize } from '../../../src/instance/summary.ts';
import { canonicalJson, isJsonObject } from '../../../src/lib/json.ts';
import { formatDollars, parseDollars } from '../../../src/lib/money.ts';
import { parseQuantity, wholeGigabytes } from '../../../src/lib/quantity.ts';
import { Secret } from '../../../src/lib/secret.ts';
import { storedForm } from '../../../src/lib/stored-form.ts';
import { formatDuration, parseDuration, parseTime } from '../../../src/lib/time.ts';
import { readIntent, writeIntent } from '../../../src/ownership/intent.ts';
import { makeLabel, readLabel } from '../../../src/ownership/label.ts';
import { openKey, sealKey } from '../../../src/ownership/sealed-key.ts';
import { type FuzzTarget, json, jsonOrNothing, sane, soundFields } from '../target.ts';
import { FACTS, IDENTITY, KEYS } from './marketplace-rows.ts';

const INTENT = writeIntent(KEYS, {
  ...FACTS,
  offer: '1',
  generation: 1,
  spec: 'hash',
  login: 'https://market|1',
  deadline: 1_767_614_430_000,
});
const NOW = 1_767_700_000_000;

/** Returns the fields that a schema refuses, and the reasons: one answer per place and reason. */
function issuesOf(schema: z.ZodType, value: unknown): readonly string[] {
  const parsed = schema.safeParse(value);
  if (parsed.success) return ['understood'];
  return parsed.error.issues.map(({ path, code, message }) => {
    const place = path.map((step) => (typeof step === 'number' ? '#' : String(step).slice(0, 30))).join('.');
    return `${place}: ${code} ${message.slice(0, 20)}`;
  });
}

const SPEC = gpuInstanceSpec.parse({ image: 'a', offers: [{ maxPricePerHour: '1' }] });

/** Sums of an account over one object, whose status and annotations users can edit. */
function readInstance(given: Pick<GpuInstance, 'metadata' | 'status'>): void {
  const whole: GpuInstance = { apiVersion: API_VERSION, kind: 'GpuInstance', spec: SPEC, ...given };
  const { rentals, ...read } = summarize(whole, NOW, KEYS);
  soundFields(read);
  soundFields(rentals);
  soundFields(summarize(whole, NOW, undefined));
}

function readAccount({ status }: Pick<MarketplaceAccount, 'status'>): void {
  const spec = marketplaceAccountSpec.parse({ apiKeySecretRef: { name: 'k' } });
  const whole: MarketplaceAccount = {
    apiVersion: API_VERSION,
    kind: 'MarketplaceAccount',
    metadata: { name: 'a' },
    spec,
    status,
  };
  avoidOf(whole);
  breakerOf(whole);
  deletedSumsOf(whole);
  soundFields({ poll: pollIntervalOf(whole, 1000) });
}

/** Reads any status that the schemas accept, as a newly started process does. */
function readStatus(value: unknown): readonly string[] {
  const instance = gpuInstanceStatus.safeParse(value);
  if (instance.success) readInstance({ status: instance.data, metadata: { name: 'a' } });
  const account = marketplaceAccountStatus.safeParse(value);
  if (account.success) readAccount({ status: account.data });
  const schemas = [gpuInstanceStatus, marketplaceAccountStatus, endpointGroupStatus];
  return schemas.flatMap((schema, index) => issuesOf(schema, value).map((issue) => `${index} ${issue}`));
}

const MACHINE = { uid: FACTS.uid, attempt: 1, instanceId: '7' };
const SEALED_KEY = sealKey(KEYS, MACHINE, new Secret('machine-key'));

/**
 * Reads a record of any text, writes it and reads it again, and expects the same result. Also reads the text as a
 * status of the older format without a record.
 */
function readRecord(record: string): readonly string[] {
  const flat = jsonOrNothing(record);
  if (isJsonObject(flat)) decodeStatus(gpuInstanceForm, flat);
  const status = decodeStatus(gpuInstanceForm, { machine: { id: '7' }, record });
  const again = decodeStatus(gpuInstanceForm, encodeStatus(gpuInstanceForm, status));
  const form = storedForm(status);
  if (form?.problem === undefined && canonicalJson(again) !== canonicalJson(status))
    throw new Error('a record came back changed');
  return [form?.problem?.type ?? 'read', ...Object.keys(status).slice(0, 5)];
}

/**
 * Reads a stored status whose fields and record hold any values, writes it and reads it again, and expects the same
 * result. `record` may be an object, which is written as the text of a record.
 */
function readStored(form: StatusForm): FuzzTarget['run'] {
  return json((value) => {
    if (!isJsonObject(value)) return ['no object'];
    const record = isJsonObject(value.record) ? JSON.stringify(value.record) : value.record;
    const status = decodeStatus(form, { ...value, ...(record !== undefined && { record }) });
    const again = decodeStatus(form, encodeStatus(form, status));
    const problem = storedForm(status)?.problem;
    if (problem === undefined && canonicalJson(again) !== canonicalJson(status))
      throw new Error('a stored status came back changed');
    return [problem?.type ?? 'read', ...Object.keys(status).slice(0, 5)];
  });
}

/** Sums read the annotation of an intent without asking whether it is genuine. */
function readAnnotation(text: string): readonly string[] {
  const metadata = { name: 'a', uid: FACTS.uid, annotations: { [annotations.rentalIntent]: text } };
  readInstance({ metadata, status: undefined });
  return [readIntent(KEYS, text).type];
}

/** Targets that parse custom resources: specs, status, annotations, labels, amounts. */
export const OBJECT_TARGETS: readonly FuzzTarget[] = [
  {
    name: 'custom-resource',
    seeds: [
      '{"image":"a","offers":[{"gpuNames":["RTX 4090"],"maxPricePerHour":"0.90","filters":[{"field":"x","operator":"gte","value":"1"}]}],"disk":"20G","timeouts":{"start":"1m"}}',
      '{"apiKeySecretRef":{"name":"k"},"limits":{"maxInstances":3,"maxSpendPerHour":"1.00"},"maxUnhealthy":"20%"}',
      '{"template":{"spec":{"image":"a","offers":[{"maxPricePerHour":"1"}]}},"minLoad":"0","coldMultiplier":"2.5","load":{"static":{"load":"3"}}}',
    ],
    run: json((value) =>
      [gpuInstanceSpec, marketplaceAccountSpec, endpointGroupSpec].flatMap((schema, index) =>
        issuesOf(schema, value).map((issue) => `${index} ${issue}`),
      ),
    ),
  },
  {
    name: 'status',
    seeds: [
      '{"instanceId":"7","attempt":2,"claim":"c","rentals":["2026-01-05T12:00:00Z"],"cost":{"pricePerHour":"0.31","accrued":"1.20","since":"2026-01-06T00:00:00Z"},"history":[],"conditions":[]}',
      '{"avoid":[{"kind":"Host","id":5,"until":"2026-01-07T00:00:00Z","failures":2,"reason":"LoadingFailed"}],"breaker":{"open":true,"since":"2026-01-06T00:00:00Z","unhealthy":3},"deletedObjects":{"month":"2026-01","spent":"1.5","rentals":["2026-01-06T00:00:00Z"]}}',
    ],
    run: json(readStatus),
  },
  {
    name: 'status-record',
    seeds: [
      '{"v":1,"attempt":2,"claim":"c","facts":[{"field":"gpu_name","value":"RTX 4090"}],"cost":{"priceAssumed":true}}',
      '{"v":2,"attempt":{}}',
      '{"v":1,"later":[1]}',
      '{"instanceId":"7","attempt":2,"claim":"c","history":[]}',
    ],
    run: readRecord,
  },
  {
    name: 'group-form',
    seeds: [
      '{"phase":"Ready","replicas":2,"gateway":{"url":"u","heldRequests":1,"inFlightRequests":2},"failing":["a"],"record":{"v":1,"templateHash":"h","gateway":{"pickers":1,"workers":[{"name":"a","requests":1,"work":2}]},"failingWorkers":[{"instanceId":"7","since":"2026-01-05T12:00:00Z","error":"e"}]}}',
      '{"autoscaling":{"rule":"Load","explanation":"e"},"record":{"v":1,"loadMaxima":[{"at":"2026-01-05T12:00:00Z","load":"1.50"}],"autoscaling":{"at":"2026-01-05T12:00:00Z","load":"1","burstLoad":"1","longLoad":"1","queue":"0","capacity":"1","rateCapacity":"1","queueCapacity":"1","hotCapacity":"1","totalCapacity":"1","hotNeed":1,"totalNeed":1,"hot":1,"total":1}}}',
      '{"failing":["a","b"],"record":"{\\"v\\":2}"}',
      '{"conditions":[{"type":"Ready","status":"True","reason":"Ready","message":"m","lastTransitionTime":"2026-01-05T12:00:00Z"}],"everReady":true}',
    ],
    run: readStored(endpointGroupForm),
  },
  { name: 'intent', seeds: [INTENT, '{"attempt":3,"issuedAt":1e300}'], run: readAnnotation },
  {
    name: 'label',
    seeds: [makeLabel(IDENTITY, FACTS)],
    run: (text) => [readLabel(IDENTITY, text).type],
  },
  {
    name: 'sealed-key',
    seeds: [SEALED_KEY],
    run: (text) => [String(openKey(KEYS, MACHINE, text)?.reveal())],
  },
  {
    name: 'numbers',
    seeds: ['1h30m', '0.80', '24G', '2026-11-20T10:00:00Z'],
    run(text) {
      const [duration, dollars] = [parseDuration(text), parseDollars(text)];
      for (const value of [duration, dollars, parseQuantity(text), wholeGigabytes(text)]) sane(value);
      if (duration !== undefined) formatDuration(duration);
      if (dollars !== undefined && parseDollars(formatDollars(dollars)) !== dollars)
        throw new Error('money changed');
      parseTime(text);
    },
  },
];
