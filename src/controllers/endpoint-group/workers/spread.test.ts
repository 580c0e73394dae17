import { describe, expect, test } from 'vitest';
import { groupObject, workerObject } from '../../../../test/builders/group-worker.ts';
import type { GpuInstance } from '../../../api/v1alpha1/gpu-instance.ts';
import { spreadOffers } from './template.ts';

const OFFER = { maxPricePerHour: '0.60' };
const group = (spreadBy: string, offers: readonly object[] = [OFFER]) =>
  groupObject({ spreadBy, template: { spec: { image: 'example/worker:1', offers } } }).spec;
const onMachine = (name: string, machineId: string, hostId = '70'): GpuInstance =>
  workerObject(name, { status: { machineId, hostId } });
const inRegions = (name: string, ...regions: string[]): GpuInstance =>
  workerObject(name, { spec: { offers: [{ ...OFFER, regions }] } });

/** Filters and regions of each alternative, in order. */
const outline = (offers: GpuInstance['spec']['offers']) =>
  offers?.map(({ filters, regions }) => [
    ...(filters ?? []).map(({ field, operator, values }) => `${field} ${operator} ${values?.join(' ')}`),
    ...(regions ? [`in ${regions.join(' ')}`] : []),
  ]);

describe('spreadOffers', () => {
  const siblings = [onMachine('a', '1'), onMachine('b', '2'), onMachine('c', '1')];

  test('excludes the machines of siblings first', () => {
    expect(outline(spreadOffers(group('Machine'), siblings))).toEqual([['machineId NotIn 1 2'], []]);
  });

  test('excludes the hosts of siblings first', () => {
    expect(outline(spreadOffers(group('Host'), siblings))).toEqual([['hostId NotIn 70'], []]);
  });

  test('keeps the filters of the template', () => {
    const filtered = group('Host', [
      { ...OFFER, filters: [{ field: 'verified', operator: 'Eq', values: ['true'] }] },
    ]);
    expect(outline(spreadOffers(filtered, siblings))).toEqual([
      ['hostId NotIn 70', 'verified Eq true'],
      ['verified Eq true'],
    ]);
  });

  test.each<[string, string, readonly GpuInstance[]]>([
    ['spreadBy is None', 'None', siblings],
    ['there are no siblings', 'Machine', []],
    ['the siblings have no machine yet', 'Machine', [workerObject('a', { status: {} })]],
    ['the siblings have no status', 'Host', [{ ...workerObject('a'), status: undefined }] as GpuInstance[]],
  ])('returns the offers of the template when %s', (_, spreadBy, given) => {
    expect(spreadOffers(group(spreadBy), given)).toEqual(group(spreadBy).template.spec.offers);
  });

  test('stays within the limits of the GpuInstance CRD', () => {
    const many = Array.from({ length: 80 }, (_, id) => onMachine(`w${id}`, String(id)));
    const filters = Array.from({ length: 32 }, (_, value) => ({
      ...{ field: 'cpu_cores', operator: 'Gt', values: [String(value)] },
    }));
    const offers = Array.from({ length: 6 }, () => ({ ...OFFER, filters }));
    const spread = spreadOffers(group('Machine', offers), many) ?? [];
    expect(spread).toHaveLength(8);
    expect(spread.map((offer) => offer.filters?.length)).toEqual(Array(8).fill(32));
    expect(spread[0]?.filters?.[0]?.values).toHaveLength(64);
    expect(spread.map((offer) => offer.filters?.[0]?.field)).toEqual([
      ...Array(6).fill('machineId'),
      ...Array(2).fill('cpu_cores'),
    ]);
  });
});

describe('spreadOffers by region', () => {
  const regional = group('Region', [{ ...OFFER, regions: ['DE', 'FR', 'SE'] }]);

  test.each<[string, readonly GpuInstance[], string]>([
    [
      'chooses the region with the fewest siblings',
      [inRegions('a', 'DE'), inRegions('b', 'DE'), inRegions('c', 'SE')],
      'FR',
    ],
    ['chooses the first region of those with the fewest siblings', [inRegions('a', 'FR')], 'DE'],
    [
      'chooses the least used region when all are used',
      ['DE', 'DE', 'FR', 'SE', 'SE'].map((at, i) => inRegions(`w${i}`, at)),
      'FR',
    ],
    ['ignores a sibling with several regions', [inRegions('a', 'DE', 'FR')], 'DE'],
    ['ignores a sibling without a region', [workerObject('a', { spec: { offers: [OFFER] } })], 'DE'],
    [
      'ignores a sibling without offers',
      [{ ...workerObject('a'), spec: { ...workerObject('a').spec, offers: undefined } }],
      'DE',
    ],
  ])('%s', (_, siblings, region) => {
    expect(outline(spreadOffers(regional, siblings))).toEqual([[`in ${region}`], ['in DE FR SE']]);
  });

  test('keeps an alternative without regions unchanged', () => {
    expect(outline(spreadOffers(group('Region'), [inRegions('a', 'DE')]))).toEqual([[]]);
  });

  test('has at most as many alternatives as the CRD allows', () => {
    const offers = Array.from({ length: 6 }, () => ({ ...OFFER, regions: ['DE'] }));
    expect(spreadOffers(group('Region', offers), [inRegions('a', 'DE')])).toHaveLength(8);
  });
});
