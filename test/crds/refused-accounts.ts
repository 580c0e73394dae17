import type { Refused } from './refused.ts';

const base = { apiKeySecretRef: { name: 'key' } };

/** MarketplaceAccounts that the API server refuses, and the lines that a user reads. */
export const refusedAccounts: readonly Refused[] = [
  {
    given: 'an address with a path',
    spec: { ...base, url: 'https://console.example/api' },
    refusals: [
      'spec.url: Invalid value: "https://console.example/api": write scheme, host and port only, such as https://marketplace.example, without a path',
    ],
  },
  {
    given: 'plain http outside loopback',
    spec: { ...base, url: 'http://console.example' },
    refusals: [
      'spec.url: Invalid value: "http://console.example": write https: plain http is accepted on the loopback address only',
    ],
  },
  { given: 'plain http on loopback', spec: { ...base, url: 'http://127.0.0.1:8000' }, refusals: [] },
  { given: 'plain http on the IPv6 loopback', spec: { ...base, url: 'http://[::1]:8000' }, refusals: [] },
  {
    given: 'a namespace beside the name of the key Secret',
    spec: { apiKeySecretRef: { name: 'key', namespace: 'kube-system' } },
    strict: 'unknown field "spec.apiKeySecretRef.namespace"',
    refusals: [],
  },
  {
    given: 'a poll interval without a unit',
    spec: { ...base, pollInterval: '10' },
    refusals: [
      'spec.pollInterval: Invalid value: "10": write a duration with units, such as 90s, 5m or 1h30m',
    ],
  },
  {
    given: 'a poll interval that is too short',
    spec: { ...base, pollInterval: '500ms' },
    refusals: ['spec.pollInterval: Invalid value: "500ms": write at least 1s'],
  },
  {
    given: 'a poll interval that is too long',
    spec: { ...base, pollInterval: '1h' },
    refusals: ['spec.pollInterval: Invalid value: "1h": write at most 10m'],
  },
  {
    given: 'namespaces by selector without a selector',
    spec: { ...base, allowedNamespaces: { from: 'Selector' } },
    refusals: [
      'spec.allowedNamespaces.selector: Required value: write a selector, or from: All for every namespace',
    ],
  },
  {
    given: 'a selector that nothing reads',
    spec: { ...base, allowedNamespaces: { selector: { matchLabels: { team: 'a' } } } },
    refusals: ['spec.allowedNamespaces.selector: Forbidden: write from: Selector, or leave selector out'],
  },
  {
    given: 'a share above the whole',
    spec: { ...base, maxUnhealthy: '120%' },
    refusals: [
      'spec.maxUnhealthy: Invalid value: "120%": write a count such as 3, or a share between 0% and 100% such as 20%',
    ],
  },
  {
    given: 'a negative count',
    spec: { ...base, maxUnhealthy: -1 },
    refusals: [
      'spec.maxUnhealthy: Invalid value: -1: write a count such as 3, or a share between 0% and 100% such as 20%',
    ],
  },
  {
    given: 'a hold with a sign',
    spec: { ...base, maxUnhealthyHold: '-1s' },
    refusals: [
      'spec.maxUnhealthyHold: Invalid value: "-1s": write a duration with units, such as 90s, 5m or 1h30m',
    ],
  },
  {
    given: 'a hold of more than a day',
    spec: { ...base, maxUnhealthyHold: '25h' },
    refusals: ['spec.maxUnhealthyHold: Invalid value: "25h": write at most 24h'],
  },
  { given: 'no hold at all', spec: { ...base, maxUnhealthyHold: '0s' }, refusals: [] },
  {
    given: 'a maximum price of nothing',
    spec: { ...base, limits: { maxPricePerHour: '0' } },
    refusals: [
      'spec.limits.maxPricePerHour: Invalid value: "0": write more than 0: no machine is free; to rent nothing, write suspend: true',
    ],
  },
  {
    given: 'sums of nothing, so that nothing is rented',
    spec: { ...base, limits: { maxSpendPerHour: '0', maxSpendPerMonth: '0.00', minCredit: '0' } },
    refusals: [],
  },
  {
    given: 'a price that the spending limit never allows',
    spec: { ...base, limits: { maxPricePerHour: '2.00', maxSpendPerHour: '1.50' } },
    covers: 'write a maxPricePerHour that is not above maxSpendPerHour',
    refusals: [
      'spec.limits.maxPricePerHour: Invalid value: maxPricePerHour 2.00 is above maxSpendPerHour 1.50: no machine at that price could ever be rented',
    ],
  },
  {
    given: 'a limit that is no number, and refusals only that',
    spec: { ...base, limits: { maxPricePerHour: 'much', maxSpendPerHour: '1' } },
    refusals: [
      'spec.limits.maxPricePerHour: Invalid value: "much": write dollars in quotes, 0 or more, with at most six digits behind the point, such as "0.80"',
    ],
  },
  {
    given: 'an address of another scheme, and refusals only that',
    spec: { ...base, url: 'ftp://console.example' },
    refusals: [
      'spec.url: Invalid value: "ftp://console.example": write scheme, host and port only, such as https://marketplace.example, without a path',
    ],
  },
  {
    given: 'dollars with a sign',
    spec: { ...base, limits: { minCredit: '$5' } },
    refusals: [
      'spec.limits.minCredit: Invalid value: "$5": write dollars in quotes, 0 or more, with at most six digits behind the point, such as "0.80"',
    ],
  },
  {
    given: 'another marketplace',
    was: { ...base, url: 'https://one.example' },
    spec: { ...base, url: 'https://two.example' },
    refusals: [
      'spec.url: Forbidden: url cannot change: create another MarketplaceAccount for another marketplace',
    ],
  },
  {
    given: 'a marketplace for an account that had the default one',
    was: base,
    spec: { ...base, url: 'https://two.example' },
    refusals: [
      'spec.url: Forbidden: url cannot change: create another MarketplaceAccount for another marketplace',
    ],
  },
  {
    given: 'a name too long for labels',
    name: 'a'.repeat(64),
    spec: base,
    refusals: [
      'metadata.name: Invalid value: write a name of at most 63 characters: children carry it in names and labels',
    ],
  },
];
