import { Secret } from '../../../src/lib/secret.ts';
import { makeLabel } from '../../../src/ownership/label.ts';

/** Keys that inputs are signed with. */
export const KEYS = [new Secret('fuzz-key')] as const;
/** Identity whose labels the targets read. */
export const IDENTITY = { installId8: '0123abcd', keys: KEYS };
/** Contents of a label. */
export const FACTS = {
  uid: '7d9f1b6e-3a52-4a7b-9a56-0d5b6f3c1e11',
  attempt: 3,
  issuedAt: 1_767_614_400_000,
};

/** A whole row of a machine. */
export const INSTANCE = JSON.stringify({
  id: 7,
  actual_status: 'running',
  intended_status: 'running',
  label: makeLabel(IDENTITY, FACTS),
  dph_total: 0.31,
  start_date: 1_767_614_400.5,
  ssh_host: 'ssh4.example',
  ssh_port: 11_022,
  public_ipaddr: '203.0.113.9',
  ports: { '22/tcp': [{ HostIp: '0.0.0.0', HostPort: '40022' }] },
  gpu_name: 'RTX 4090',
  num_gpus: 1,
  machine_id: 70,
  host_id: 50,
});

/** A whole row of an offer. */
export const OFFER = JSON.stringify({
  id: 5,
  machine_id: 70,
  host_id: 50,
  gpu_name: 'RTX 4090',
  num_gpus: 1,
  gpu_ram: 24_564,
  dph_total: 0.31,
  min_bid: 0.1,
  reliability2: 0.99,
  geolocation: 'Sweden, SE',
  direct_port_count: 10,
  verification: 'verified',
});
