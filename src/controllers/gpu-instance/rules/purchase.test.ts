import { describe, expect } from 'vitest';
import { decisionTables } from '../../../../test/builders/decision-table.ts';
import { offer, readyCondition, time } from '../../../../test/builders/observed.ts';

const { table, close } = decisionTables('purchase');

const STRICT = {
  maxPricePerHour: '1.00',
  gpuNames: ['H100'],
  gpuCount: 2,
  minGpuMemory: '40G',
  minDirectPorts: 20,
  minReliability: '99.5%',
  regions: ['DE'],
  verified: true,
};
const FITS = offer({
  gpuName: 'H100',
  gpuCount: 2,
  gpuMemoryMB: 80_000,
  directPorts: 30,
  reliability: 0.999,
  region: 'Saxony, DE',
  verified: true,
});
const NEARLY = [
  { gpuName: 'A100' },
  { gpuName: 'A40' },
  { gpuCount: 1 },
  { gpuMemoryMB: 1000 },
  { directPorts: 1 },
  { reliability: 0.5 },
  { region: 'Utah, US' },
  { verified: false },
].map((change, id) => ({ ...FITS, id: String(id), ...change }));

describe('what a rental is made of', () => {
  table([
    [
      'is requested together with the first search',
      { observed: { inputs: undefined } },
      {
        reads: [
          { type: 'inputs' },
          { type: 'offers', index: 0, scope: 'shared', queries: [expect.anything()] },
        ],
      },
    ],
    [
      'is requested alone when no price limits a search',
      { spec: { offers: [{}] }, observed: { inputs: undefined } },
      { reads: [{ type: 'inputs' }] },
    ],
    [
      'that a Secret does not give is waited for, and said',
      {
        observed: {
          inputs: { type: 'problem', reason: 'InputMissing', detail: 'Secret login does not exist.' },
        },
      },
      { rule: 'preflight', phase: 'Pending', says: 'InputMissing', afterMs: 60000 },
    ],
  ]);
});

describe('several alternatives', () => {
  table([
    [
      'are tried in their order',
      {
        spec: { offers: [{ maxPricePerHour: '1.00', gpuNames: ['H100'] }, { maxPricePerHour: '1.00' }] },
        observed: { offers: new Map([[0, { type: 'found', offers: [] }]]) },
      },
      {
        reads: [
          { type: 'offers', index: 1, scope: 'shared', queries: [expect.objectContaining({ limit: 200 })] },
        ],
      },
    ],
    [
      'leave out one that has no price limit',
      {
        spec: { offers: [{}, { maxPricePerHour: '1.00' }] },
        observed: { offers: new Map([[1, { type: 'found', offers: [offer()] }]]) },
      },
      { rule: 'purchase', record: 'intent', actions: ['rent 100 as 1'] },
    ],
    [
      'take one without a price limit where an unknown price is allowed',
      {
        spec: { offers: [{ allowUnknownPrice: true }] },
        observed: { offers: new Map([[0, { type: 'found', offers: [offer()] }]]) },
      },
      { rule: 'purchase', record: 'intent', actions: ['rent 100 as 1'] },
    ],
    [
      'are not rented at an unknown price that nothing could count against maxTotalCost (S4)',
      { spec: { offers: [{ allowUnknownPrice: true }], maxTotalCost: '5' } },
      { rule: 'preflight', phase: 'Pending', says: 'stalled: InvalidSpec' },
    ],
    [
      'are explained by the first that has a price limit',
      {
        spec: { offers: [{}, { maxPricePerHour: '1.00' }] },
        observed: { offers: new Map([[1, { type: 'found', offers: [] }]]) },
      },
      {
        reads: [
          { type: 'offers', index: 1, scope: 'broad', queries: [expect.objectContaining({ limit: 2000 })] },
        ],
      },
    ],
    [
      'are none after a machine that was taken over is gone',
      { spec: { adopt: { instanceId: '40' }, offers: undefined }, status: { attempt: 1 } },
      { rule: 'preflight', phase: 'Pending', says: 'stalled: InvalidSpec' },
    ],
  ]);
});

describe('a search that failed', () => {
  table([
    [
      'is not one that found nothing',
      {
        observed: {
          offers: new Map([
            [0, { type: 'failed', kind: 'unavailable', detail: 'no answer', retryAfterMs: undefined }],
          ]),
        },
      },
      { rule: 'purchase', phase: 'Pending', says: 'Unreachable', afterMs: 5000 },
    ],
    [
      'says that a filter is wrong, by an event only when that is new',
      {
        status: { conditions: [readyCondition('InvalidSpec')] },
        observed: {
          offers: new Map([
            [0, { type: 'failed', kind: 'invalidRequest', detail: 'no such field', retryAfterMs: undefined }],
          ]),
        },
      },
      { rule: 'purchase', phase: 'Pending', says: 'stalled: InvalidSpec', afterMs: 5000 },
    ],
    [
      'says that a filter is wrong',
      {
        observed: {
          offers: new Map([
            [0, { type: 'failed', kind: 'invalidRequest', detail: 'no such field', retryAfterMs: undefined }],
          ]),
        },
      },
      { rule: 'purchase', phase: 'Pending', says: 'stalled: InvalidSpec', afterMs: 5000 },
    ],
    [
      'waits as long as the service asks',
      {
        observed: {
          offers: new Map([
            [0, { type: 'failed', kind: 'throttled', detail: 'slower', retryAfterMs: 90_000 }],
          ]),
        },
      },
      { rule: 'purchase', phase: 'Pending', says: 'Throttled', afterMs: 90000 },
    ],
    [
      'of everything leaves out what would match otherwise',
      {
        observed: {
          offers: new Map([[0, { type: 'found', offers: [] }]]),
          broadOffers: { type: 'failed', kind: 'unavailable', detail: 'no answer', retryAfterMs: undefined },
        },
      },
      { rule: 'purchase', phase: 'Pending', says: 'NoOffers', afterMs: 5000 },
    ],
    [
      'is not repeated to explain what was explained within ten minutes (H8)',
      {
        memory: { explained: { reason: 'NoOffers', detail: 'Each costs more.' } },
        observed: { offers: new Map([[0, { type: 'found', offers: [] }]]) },
      },
      { rule: 'purchase', phase: 'Pending', says: 'NoOffers', afterMs: 5000 },
    ],
    [
      'found nothing ten times is repeated after half an hour (H8)',
      {
        memory: { failures: 10, explained: { reason: 'NoOffers', detail: 'None.' } },
        observed: { offers: new Map([[0, { type: 'found', offers: [] }]]) },
      },
      { rule: 'purchase', phase: 'Pending', says: 'NoOffers', afterMs: 1_800_000 },
    ],
    [
      'of others is not enough for offers that do not tell that they fit',
      {
        observed: {
          offers: new Map([[0, { type: 'found', isShared: true, offers: [offer({ verified: undefined })] }]]),
        },
      },
      { reads: [{ type: 'offers', index: 0, queries: [expect.anything()], scope: 'exact' }] },
    ],
    [
      'is made after those of others by an object that found nothing before',
      { memory: { refusal: { reason: 'NoOffers', detail: 'None.' } } },
      { reads: [{ type: 'offers', index: 0, scope: 'shared', queries: [expect.anything()], patient: true }] },
    ],
    [
      'is tried later each time',
      {
        memory: { failures: 2 },
        observed: {
          offers: new Map([
            [0, { type: 'failed', kind: 'unavailable', detail: 'no answer', retryAfterMs: undefined }],
          ]),
        },
      },
      { rule: 'purchase', phase: 'Pending', says: 'Unreachable', afterMs: 20000 },
    ],
  ]);
});

describe('where nothing matches', () => {
  table([
    [
      'the requirement that keeps offers away is named, with their count',
      {
        spec: { offers: [{ maxPricePerHour: '1.00', gpuNames: ['H100'] }] },
        observed: {
          offers: new Map([[0, { type: 'found', offers: [] }]]),
          broadOffers: { type: 'found', offers: [offer({ id: '1' }), offer({ id: '2' })] },
        },
      },
      { rule: 'purchase', phase: 'Pending', says: 'NoOffers', afterMs: 5000 },
    ],
    [
      'at most three requirements are named, the most helpful first',
      {
        spec: { offers: [STRICT] },
        observed: {
          offers: new Map([[0, { type: 'found', offers: [] }]]),
          broadOffers: { type: 'found', offers: NEARLY },
        },
      },
      { rule: 'purchase', phase: 'Pending', says: 'NoOffers', afterMs: 5000 },
    ],
    [
      'it is said where no single requirement would help',
      {
        spec: { offers: [STRICT] },
        observed: {
          offers: new Map([[0, { type: 'found', offers: [] }]]),
          broadOffers: { type: 'found', offers: [{ ...FITS, gpuName: 'RTX 4090', region: 'Utah, US' }] },
        },
      },
      { rule: 'purchase', phase: 'Pending', says: 'NoOffers', afterMs: 5000 },
    ],
    [
      'a name that no GPU has is answered with the one that was meant',
      {
        spec: { offers: [{ maxPricePerHour: '1.00', gpuNames: ['rtx4090'] }] },
        observed: {
          offers: new Map([[0, { type: 'found', offers: [] }]]),
          broadOffers: {
            type: 'found',
            offers: [offer({ gpuName: 'RTX 3090' }), offer({ id: '2', gpuName: 'RTX 4090' })],
          },
        },
      },
      { rule: 'purchase', phase: 'Pending', says: 'NoOffers', afterMs: 5000 },
    ],
    [
      'it is looked again later each time',
      {
        memory: { failures: 2 },
        observed: {
          offers: new Map([[0, { type: 'found', offers: [] }]]),
          broadOffers: { type: 'found', offers: [] },
        },
      },
      { rule: 'purchase', phase: 'Pending', says: 'NoOffers', afterMs: 20000 },
    ],
    [
      'offers that are too dear are told from none',
      {
        observed: {
          offers: new Map([[0, { type: 'found', offers: [] }]]),
          broadOffers: { type: 'found', offers: [offer({ pricePerHour: 2_000_000 })] },
        },
      },
      { rule: 'purchase', phase: 'Pending', says: 'NoOffers', afterMs: 5000 },
    ],
  ]);
});

describe('what an object itself keeps off', () => {
  table([
    [
      'is the machine of that number, not the offer or host of it',
      {
        status: { avoid: [{ kind: 'Machine', id: '5', until: time(60) }] },
        observed: {
          offers: new Map([
            [0, { type: 'found', offers: [offer({ id: '5', hostId: '5' }), offer({ id: '6' })] }],
          ]),
        },
      },
      { rule: 'purchase', record: 'intent', actions: ['rent 5 as 1'] },
    ],
    [
      'is the host of that number, not the offer or machine of it',
      {
        status: { avoid: [{ kind: 'Host', id: '5', until: time(60) }] },
        observed: {
          offers: new Map([
            [0, { type: 'found', offers: [offer({ id: '5', machineId: '5' }), offer({ id: '6' })] }],
          ]),
        },
      },
      { rule: 'purchase', record: 'intent', actions: ['rent 5 as 1'] },
    ],
    [
      'ends at the very moment that was written down',
      {
        status: { avoid: [{ kind: 'Machine', id: '5', until: time(0) }] },
        observed: {
          offers: new Map([
            [0, { type: 'found', offers: [offer({ id: '5', machineId: '5' }), offer({ id: '6' })] }],
          ]),
        },
      },
      { rule: 'purchase', record: 'intent', actions: ['rent 5 as 1'] },
    ],
  ]);
});

close();
