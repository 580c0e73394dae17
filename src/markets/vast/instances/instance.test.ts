import { describe, expect, test } from 'vitest';
import { instanceRows } from './instance.ts';

const parse = (row: Readonly<Record<string, unknown>>) => instanceRows.row.parse({ id: 1, ...row });

const bound = (hostPort: string) => [{ HostPort: hostPort }];

describe('ports of a listed machine', () => {
  test.each<readonly [string, Record<string, unknown>, Record<string, number>]>([
    [
      'are known by number and protocol',
      { '22/tcp': bound('1'), '53/udp': bound('2') },
      { '22/tcp': 1, '53/udp': 2 },
    ],
    ['may be named in capitals', { '22/TCP': bound('1') }, { '22/tcp': 1 }],
    ['are of TCP where no protocol is named', { '22': bound('1') }, { '22/tcp': 1 }],
    [
      'are those of the usual name, whatever else says the same',
      { '22/tcp': bound('1'), '22/TCP': bound('2') },
      { '22/tcp': 1 },
    ],
    [
      'are those of the usual name also where it comes last',
      { '22/TCP': bound('2'), '22/tcp': bound('1') },
      { '22/tcp': 1 },
    ],
    ['are none of another protocol', { '22/sctp': bound('1') }, {}],
    [
      'are none beyond what there is',
      { '0/tcp': bound('1'), '70000/tcp': bound('2'), '22/tcp': bound('0') },
      {},
    ],
    ['are none that are no number', { '': bound('1'), 'x/tcp': bound('2'), '1.5/tcp': bound('3') }, {}],
  ])('%s', (_, ports, expected) => {
    expect(parse({ ports }).ports).toEqual(expected);
  });
});

describe('what no status could hold', () => {
  test.each<readonly [string, Record<string, unknown>, Record<string, unknown>]>([
    ['an empty word says nothing', { actual_status: '' }, { actualStatus: null, actualStatusText: null }],
    ['a GPU without a name is not known', { gpu_name: '' }, { gpuName: undefined }],
    ['the name of a GPU is cut', { gpu_name: 'g'.repeat(200) }, { gpuName: 'g'.repeat(128) }],
    ['memory is counted in whole MB', { gpu_ram: 24_563.5 }, { gpuMemoryMB: 24_564 }],
    ['utilization is a share', { gpu_util: 37.5 }, { gpuUtilization: 0.375 }],
    [
      'utilization of a machine that does not run is not known',
      { gpu_util: null },
      { gpuUtilization: undefined },
    ],
    ['utilization above 100 % is not known', { gpu_util: 101 }, { gpuUtilization: undefined }],
    ['memory beyond counting is not known', { gpu_ram: 1e300 }, { gpuMemoryMB: undefined }],
    ['half an address leads nowhere', { public_ipaddr: 'x'.repeat(254) }, { publicAddress: undefined }],
    ['the longest address is kept', { public_ipaddr: 'x'.repeat(253) }, { publicAddress: 'x'.repeat(253) }],
    ['a proxy without a name is none', { ssh_host: '', ssh_port: 22 }, { sshHost: undefined, sshPort: 22 }],
    ['half a proxy leads nowhere', { ssh_host: 'x'.repeat(254) }, { sshHost: undefined }],
    ['a start beyond all dates is not known', { start_date: 2.6e11 }, { startedAt: undefined }],
    ['a start before the epoch is not known', { start_date: -5 }, { startedAt: undefined }],
    ['a start is kept to the millisecond', { start_date: 1.5 }, { startedAt: 1500 }],
    ['a price beyond reason is not known', { dph_total: 1_000_001 }, { pricePerHour: undefined }],
    ['the highest price is', { dph_total: 1_000_000 }, { pricePerHour: 1e12 }],
  ])('%s', (_, row, expected) => {
    expect(parse(row)).toMatchObject(expected);
  });

  test('leaves the direct address out where it is none', () => {
    const odd = { ports: { '22/tcp': bound('4000') }, public_ipaddr: 'x'.repeat(254) };
    expect(parse({ ...odd, ssh_host: 'proxy', ssh_port: 7000 })).toMatchObject({
      sshHost: 'proxy',
      sshPort: 7000,
      publicAddress: undefined,
    });
  });
});
