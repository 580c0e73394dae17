import type { Refused } from './refused.ts';

const base = { offers: [{}], image: 'registry.example/team/image:tag' };
const offer = (change: object) => ({ ...base, offers: [change] });

const offers: readonly Refused[] = [
  {
    given: 'GPU memory in binary units',
    spec: offer({ minGpuMemory: '24Gi' }),
    covers: 'write 24G: the marketplace counts GPU memory in decimal GB',
    refusals: [
      'spec.offers[0].minGpuMemory: Invalid value: "24Gi": write 24G: the marketplace counts GPU memory in decimal GB',
    ],
  },
  {
    given: 'GPU memory in binary units, another size',
    spec: offer({ minGpuMemory: '40960Mi' }),
    refusals: [
      'spec.offers[0].minGpuMemory: Invalid value: "40960Mi": write 40960M: the marketplace counts GPU memory in decimal GB',
    ],
  },
  {
    given: 'GPU memory without a unit',
    spec: offer({ minGpuMemory: '24' }),
    refusals: [
      'spec.offers[0].minGpuMemory: Invalid value: "24": write the memory of one GPU with its unit, such as 24G or 24000M',
    ],
  },
  {
    given: 'an interruptible rental without a bid',
    spec: offer({ pricing: 'Interruptible' }),
    refusals: [
      'spec.offers[0].bid: Required value: an Interruptible rental needs a bid: write the dollars per hour, such as "0.25"',
    ],
  },
  {
    given: 'a bid for a fixed price',
    spec: offer({ bid: '0.25' }),
    refusals: [
      'spec.offers[0].bid: Forbidden: a bid belongs to pricing: Interruptible: write that, or leave bid out',
    ],
  },
  {
    given: 'a bid below what the marketplace takes',
    spec: offer({ pricing: 'Interruptible', bid: '0.0005' }),
    refusals: [
      'spec.offers[0].bid: Invalid value: write a bid of at least "0.001": the marketplace accepts no lower one',
    ],
  },
  {
    given: 'a bid above the maximum price',
    spec: offer({ pricing: 'Interruptible', bid: '0.50', maxPricePerHour: '0.40' }),
    covers: 'write a bid that is not above maxPricePerHour',
    refusals: [
      'spec.offers[0].bid: Invalid value: bid 0.50 is above maxPricePerHour 0.40: lower the bid or raise the maximum',
    ],
  },
  {
    given: 'a bid with a sign, and refusals only that',
    spec: offer({ pricing: 'Interruptible', bid: '$5', maxPricePerHour: '1' }),
    refusals: [
      'spec.offers[0].bid: Invalid value: "$5": write dollars in quotes, 0 or more, with at most six digits behind the point, such as "0.80"',
    ],
  },
  {
    given: 'a maximum price of nothing',
    spec: offer({ maxPricePerHour: '0' }),
    covers: 'write more than 0: no machine is free',
    refusals: ['spec.offers[0].maxPricePerHour: Invalid value: "0": write more than 0: no machine is free'],
  },
  {
    given: 'a price with seven digits behind the point',
    spec: offer({ maxPricePerHour: '0.1234567' }),
    refusals: [
      'spec.offers[0].maxPricePerHour: Invalid value: "0.1234567": write dollars in quotes, 0 or more, with at most six digits behind the point, such as "0.80"',
    ],
  },
  {
    given: 'a price without quotes',
    spec: offer({ maxPricePerHour: 0.8 }),
    refusals: [
      'spec.offers[0].maxPricePerHour: Invalid value: "number": spec.offers[0].maxPricePerHour in body must be of type string: "number"',
      '<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
    ],
  },
  {
    given: 'a country that YAML took for false',
    spec: offer({ regions: [false] }),
    refusals: [
      'spec.offers[0].regions[0]: Invalid value: "boolean": spec.offers[0].regions[0] in body must be of type string: "boolean"',
      '<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
    ],
  },
  {
    given: 'a country in small letters',
    spec: offer({ regions: ['se'] }),
    refusals: [
      'spec.offers[0].regions[0]: Invalid value: "se": write the two-letter code of a country in capitals, such as US',
    ],
  },
  {
    given: 'the same GPU model twice',
    spec: offer({ gpuNames: ['RTX 4090', 'RTX 4090'] }),
    refusals: ['spec.offers[0].gpuNames[1]: Duplicate value: "RTX 4090"'],
  },
  {
    given: 'a filter on a field that has its own place',
    spec: offer({ filters: [{ field: 'gpu_name', operator: 'Eq', value: 'RTX 4090' }] }),
    covers: 'this field has its own place: use it instead of a filter',
    refusals: [
      'spec.offers[0].filters[0].field: Forbidden: gpu_name has its own place: write gpuNames instead of a filter',
    ],
  },
  {
    given: 'a filter on what the operator sets',
    spec: offer({ filters: [{ field: 'rentable', operator: 'Eq', value: 'false' }] }),
    refusals: [
      'spec.offers[0].filters[0].field: Forbidden: leave it out: the operator sets rentable, rented, limit and id itself',
    ],
  },
  {
    given: 'a list operator with a single value',
    spec: offer({ filters: [{ field: 'cpu_arch', operator: 'In', value: 'amd64' }] }),
    refusals: [
      'spec.offers[0].filters[0]: Invalid value: write values (a list) with In and NotIn, and value with every other operator',
    ],
  },
  {
    given: 'a comparison without a value',
    spec: offer({ filters: [{ field: 'inet_down', operator: 'Gt' }] }),
    refusals: [
      'spec.offers[0].filters[0]: Invalid value: write values (a list) with In and NotIn, and value with every other operator',
    ],
  },
];

const probeWith = (header: object) => ({
  ...base,
  ports: [{ containerPort: 80 }],
  readinessProbe: { httpGet: { port: 80, httpHeaders: [header] } },
});

const container: readonly Refused[] = [
  {
    given: 'an image with a scheme',
    spec: { ...base, image: 'docker://registry.example/image' },
    refusals: [
      'spec.image: Invalid value: "docker://registry.example/image": write the image without a scheme: registry.example/team/image:tag',
    ],
  },
  {
    given: 'a disk without meaning',
    spec: { ...base, disk: 'big' },
    refusals: ['spec.disk: Invalid value: "big": write a size with its unit, such as 32G or 32Gi'],
  },
  {
    given: 'a disk that is too small',
    spec: { ...base, disk: '4G' },
    refusals: [
      'spec.disk: Invalid value: "4G": write a size with its unit between 8G and 100T, such as 32Gi',
    ],
  },
  { given: 'a disk in binary units', spec: { ...base, disk: '32Gi' }, refusals: [] },
  {
    given: 'a script twice',
    spec: { ...base, onStart: 'true', onStartFrom: { secretKeyRef: { name: 'a', key: 'b' } } },
    refusals: ['spec.onStartFrom: Forbidden: write onStart or onStartFrom, not both'],
  },
  {
    given: 'a value twice',
    spec: {
      ...base,
      env: [{ name: 'A', value: 'b', valueFrom: { secretKeyRef: { name: 'a', key: 'b' } } }],
    },
    refusals: ['spec.env[0].valueFrom: Forbidden: write value or valueFrom, not both'],
  },
  {
    given: 'a variable that the operator sets',
    spec: { ...base, env: [{ name: 'GPURENTAL_WORKER_TOKEN', value: 'mine' }] },
    refusals: [
      'spec.env[0].name: Forbidden: choose another name: GPURENTAL_* and CONTAINER_API_KEY are set for you',
    ],
  },
  {
    given: 'the same variable twice',
    spec: { ...base, env: [{ name: 'A' }, { name: 'A' }] },
    refusals: ['spec.env[1]: Duplicate value: {"name":"A"}'],
  },
  {
    given: 'a variable out of a ConfigMap',
    spec: { ...base, env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'a', key: 'b' } } }] },
    strict: 'unknown field "spec.env[0].valueFrom.configMapKeyRef"',
    refusals: [],
  },
  {
    given: 'two ports of one name',
    spec: {
      ...base,
      ports: [
        { name: 'http', containerPort: 80 },
        { name: 'http', containerPort: 81 },
      ],
    },
    refusals: ['spec.ports: Invalid value: give each port a name of its own'],
  },
  {
    given: 'an identity port of each protocol (B15)',
    spec: {
      ...base,
      ports: [
        { name: 'p2p', containerPort: 70_000 },
        { name: 'voice', containerPort: 79_999, protocol: 'UDP' },
      ],
      readinessProbe: { tcpSocket: { port: 'p2p' } },
    },
    refusals: [],
  },
  {
    given: 'a port between the last one of TCP and the first identity port (B15)',
    spec: { ...base, ports: [{ containerPort: 69_999 }] },
    refusals: [
      'spec.ports[0].containerPort: Invalid value: 69999: write a port from 1 to 65535, or from 70000 to 79999 for one number inside and outside',
    ],
  },
  {
    given: 'two identity ports of one protocol (B15)',
    spec: { ...base, ports: [{ containerPort: 70_000 }, { containerPort: 70_001 }] },
    refusals: [
      'spec.ports: Invalid value: write one TCP port from 70000 on: of several, the mapping of each is unknown',
    ],
  },
  {
    given: 'two identity ports of UDP (B15)',
    spec: {
      ...base,
      ports: [
        { containerPort: 70_000, protocol: 'UDP' },
        { containerPort: 70_001, protocol: 'UDP' },
      ],
    },
    refusals: [
      'spec.ports: Invalid value: write one UDP port from 70000 on: of several, the mapping of each is unknown',
    ],
  },
  {
    given: 'a probe of a port that is not mapped',
    spec: { ...base, readinessProbe: { httpGet: { port: 8080 } } },
    refusals: [
      'spec.readinessProbe.httpGet.port: Invalid value: readinessProbe.httpGet.port must be a name or number under ports: only those are mapped to a public port',
    ],
  },
  {
    given: 'a probe of SSH where none is wanted',
    spec: { ...base, readinessProbe: { tcpSocket: { port: 22 } } },
    refusals: [
      'spec.readinessProbe.tcpSocket.port: Invalid value: readinessProbe.tcpSocket.port must be a name or number under ports, or 22 with ssh: true',
    ],
  },
  {
    given: 'a probe of SSH',
    spec: { ...base, ssh: true, readinessProbe: { tcpSocket: { port: 22 } } },
    refusals: [],
  },
  {
    given: 'a probe by the name of a port',
    spec: {
      ...base,
      ports: [{ name: 'http', containerPort: 80 }],
      readinessProbe: { httpGet: { port: 'http' } },
    },
    refusals: [],
  },
  {
    given: 'a probe that asks nothing',
    spec: { ...base, readinessProbe: {} },
    refusals: ['spec.readinessProbe: Invalid value: write exactly one of httpGet and tcpSocket'],
  },
  {
    given: 'a probe that asks twice',
    spec: {
      ...base,
      ports: [{ containerPort: 80 }],
      readinessProbe: { httpGet: { port: 80 }, tcpSocket: { port: 80 } },
    },
    refusals: ['spec.readinessProbe: Invalid value: write exactly one of httpGet and tcpSocket'],
  },
  {
    given: 'a probe that may take longer than its period',
    spec: {
      ...base,
      ports: [{ containerPort: 80 }],
      readinessProbe: { tcpSocket: { port: 80 }, periodSeconds: 5, timeoutSeconds: 6 },
    },
    refusals: [
      'spec.readinessProbe.timeoutSeconds: Invalid value: write a timeoutSeconds that is not above periodSeconds',
    ],
  },
  {
    given: 'a probe that sets a header of the connection',
    spec: probeWith({ name: 'Transfer-Encoding', value: 'chunked' }),
    refusals: [
      'spec.readinessProbe.httpGet.httpHeaders[0].name: Forbidden: choose another header: this one belongs to the connection and is set by the operator',
    ],
  },
  {
    given: 'a header value with a line break',
    spec: probeWith({ name: 'X-Probe', value: 'ready\n' }),
    refusals: [
      'spec.readinessProbe.httpGet.httpHeaders[0].value: Invalid value: "ready\\n": write a header value without line breaks, control characters or characters outside Latin-1; in YAML write value: "…", not value: |',
    ],
  },
  {
    given: 'a header value outside Latin-1',
    spec: probeWith({ name: 'X-Probe', value: '€' }),
    refusals: [
      'spec.readinessProbe.httpGet.httpHeaders[0].value: Invalid value: "€": write a header value without line breaks, control characters or characters outside Latin-1; in YAML write value: "…", not value: |',
    ],
  },
  {
    given: 'a header value with a tab, punctuation and Latin-1',
    spec: probeWith({ name: 'X-Probe', value: '!\tprêt' }),
    refusals: [],
  },
  {
    given: 'a port name that cannot be one',
    spec: { ...base, readinessProbe: { httpGet: { port: 'Web Port' } } },
    refusals: [
      'spec.readinessProbe.httpGet.port: Invalid value: "Web Port": write a port number between 1 and 65535, or the name of a port',
      'spec.readinessProbe.httpGet.port: Invalid value: readinessProbe.httpGet.port must be a name or number under ports: only those are mapped to a public port',
    ],
  },
  {
    given: 'a port number out of range in a probe',
    spec: { ...base, readinessProbe: { tcpSocket: { port: 70_000 } } },
    refusals: [
      'spec.readinessProbe.tcpSocket.port: Invalid value: 70000: write a port number between 1 and 65535, or the name of a port',
      'spec.readinessProbe.tcpSocket.port: Invalid value: readinessProbe.tcpSocket.port must be a name or number under ports, or 22 with ssh: true',
    ],
  },
];

const NO_OFFERS =
  'spec.offers: Required value: write at least one alternative under offers; it may be left out only for an adopted machine that is never replaced';
const NO_IMAGE =
  'spec.image: Required value: write an image; it may be left out only for an adopted machine that is never replaced';
const ADOPT_CHANGED = 'spec.adopt: Forbidden: adopt cannot change: create another object for another machine';
const ACCOUNT_CHANGED =
  'spec.accountRef: Forbidden: accountRef cannot change: delete this object and create another for the other account';

const life: readonly Refused[] = [
  { given: 'nothing to rent', spec: {}, refusals: [NO_OFFERS, NO_IMAGE] },
  { given: 'an empty list of alternatives', spec: { ...base, offers: [] }, refusals: [NO_OFFERS] },
  {
    given: 'a machine that is only observed',
    spec: { adopt: { instanceId: '7', policy: 'Observe' } },
    refusals: [],
  },
  {
    given: 'a machine of a marketplace whose ids are no numbers',
    spec: { adopt: { instanceId: 'i-0a1b.c:d_e', policy: 'Observe' } },
    refusals: [],
  },
  {
    given: 'an id with a blank',
    spec: { adopt: { instanceId: '47 11', policy: 'Observe' } },
    refusals: [
      'spec.adopt.instanceId: Invalid value: "47 11": write an id of the marketplace in quotes, such as "4711"',
    ],
  },
  {
    given: 'an adopted machine that nothing could replace',
    spec: { adopt: { instanceId: '7' } },
    refusals: [NO_OFFERS, NO_IMAGE],
  },
  {
    given: 'an adopted machine that is never replaced',
    spec: { adopt: { instanceId: '7' }, replacement: { policy: 'Never' } },
    refusals: [],
  },
  {
    given: 'more time for loading than the hard cap',
    spec: { ...base, timeouts: { loading: '90m' } },
    refusals: ['spec.timeouts.loading: Invalid value: "90m": write at most 60m'],
  },
  {
    given: 'no time for a start',
    spec: { ...base, timeouts: { start: '0s' } },
    refusals: ['spec.timeouts.start: Invalid value: "0s": write at least 1s'],
  },
  {
    given: 'no time for provisioning',
    spec: { ...base, timeouts: { provisioning: '10ms' } },
    refusals: ['spec.timeouts.provisioning: Invalid value: "10ms": write at least 1s'],
  },
  {
    given: 'days for provisioning and a start',
    spec: { ...base, timeouts: { provisioning: '25h', start: '48h' } },
    refusals: [
      'spec.timeouts.provisioning: Invalid value: "25h": write at most 24h',
      'spec.timeouts.start: Invalid value: "48h": write at most 24h',
    ],
  },
  {
    given: 'no time for loading',
    spec: { ...base, timeouts: { loading: '0s' } },
    refusals: ['spec.timeouts.loading: Invalid value: "0s": write at least 1s'],
  },
  {
    given: 'a week of patience',
    spec: { ...base, replacement: { tolerance: { offline: '168h', unknown: '168h' } } },
    refusals: [
      'spec.replacement.tolerance.offline: Invalid value: "168h": write at most 24h',
      'spec.replacement.tolerance.unknown: Invalid value: "168h": write at most 24h',
    ],
  },
  {
    given: 'a life of seconds',
    spec: { ...base, maxLifetime: '5s' },
    refusals: ['spec.maxLifetime: Invalid value: "5s": write at least 1m'],
  },
  {
    given: 'a name that no Service takes',
    name: '4090',
    spec: base,
    refusals: [
      'metadata.name: Invalid value: write a name of lower case letters, digits and "-" that begins with a letter, since the Service has the same name; or set service.enabled: false',
    ],
  },
  {
    given: 'that name without a Service',
    name: '4090',
    spec: { ...base, service: { enabled: false } },
    refusals: [],
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

/** References that no registry can serve (B02), and how a container cannot start (B01). */
const IDLE_ENDS =
  'idle.action Destroy destroys the machine, which deletionPolicy keeps: write deletionPolicy: Destroy, or another action';
const IDLE_OBSERVED =
  'a machine that is only observed is never ended: write policy: Manage, or leave idle out';

const idle: readonly Refused[] = [
  {
    given: 'an idle time of a few minutes',
    spec: { ...base, idle: { after: '5m', warning: '1m' } },
    refusals: ['spec.idle.after: Invalid value: "5m": write at least 15m'],
  },
  {
    given: 'an idle time of weeks',
    spec: { ...base, idle: { after: '200h' } },
    refusals: ['spec.idle.after: Invalid value: "200h": write at most 168h'],
  },
  {
    given: 'a warning as long as the idle time',
    spec: { ...base, idle: { after: '30m', warning: '30m' } },
    covers: 'write a warning that is shorter than after',
    refusals: [
      'spec.idle.warning: Invalid value: warning 30m is not shorter than after 30m: lower the one or raise the other',
    ],
  },
  {
    given: 'a warning of seconds',
    spec: { ...base, idle: { after: '30m', warning: '5s' } },
    refusals: ['spec.idle.warning: Invalid value: "5s": write at least 1m'],
  },
  {
    given: 'a warning of days',
    spec: { ...base, idle: { after: '100h', warning: '48h' } },
    refusals: ['spec.idle.warning: Invalid value: "48h": write at most 24h'],
  },
  {
    given: 'a destroy of an idle machine that the deletion policy keeps',
    spec: { ...base, idle: { after: '30m', action: 'Destroy' }, deletionPolicy: 'Retain' },
    refusals: [`spec.idle.action: Forbidden: ${IDLE_ENDS}`],
  },
  {
    given: 'a stop of an idle machine that the deletion policy keeps',
    spec: { ...base, idle: { after: '30m', action: 'Stop' }, deletionPolicy: 'Retain' },
    refusals: [],
  },
  {
    given: 'an idle time of a machine that is only observed',
    spec: { adopt: { instanceId: '7', policy: 'Observe' }, idle: { after: '30m' } },
    refusals: [`spec.idle: Forbidden: ${IDLE_OBSERVED}`],
  },
];

const starts: readonly Refused[] = [
  {
    given: 'B02: an image path in upper case',
    spec: { ...base, image: 'ghcr.io/Acme/Server:latest' },
    refusals: [
      'spec.image: Invalid value: "ghcr.io/Acme/Server:latest": write the path of the image in lower case: ghcr.io/acme/server:tag',
    ],
  },
  {
    given: 'B02: an image path with two slashes',
    spec: { ...base, image: 'ghcr.io/acme//server' },
    refusals: [
      'spec.image: Invalid value: "ghcr.io/acme//server": write the path of the image as names between single slashes, each beginning and ending with a letter or digit',
    ],
  },
  {
    given: 'B02: an image path that is too long',
    spec: { ...base, image: 'a'.repeat(256) },
    refusals: [
      `spec.image: Invalid value: "${'a'.repeat(256)}": write a path of at most 255 characters: no registry has longer ones`,
    ],
  },
  {
    given: 'B02: an image without the tag behind its colon',
    spec: { ...base, image: 'ubuntu:' },
    refusals: [
      'spec.image: Invalid value: "ubuntu:": complete the tag or digest: image:tag (at most 128 characters) or image@sha256: and 64 hexadecimal digits',
    ],
  },
  {
    given: 'B02: an image whose tag the marketplace chooses',
    spec: { ...base, image: 'vastai/pytorch:@vastai-automatic-tag' },
    refusals: [],
  },
  {
    given: 'B01: no words, which run the image as built',
    spec: { ...base, args: [] },
    refusals: [],
  },
  {
    given: 'B01: a command beside SSH',
    spec: { ...base, command: ['python', 'train.py'], args: ['--epochs', '3'], ssh: true },
    refusals: [],
  },
  {
    given: 'B01: args beside SSH',
    spec: { ...base, args: ['--model', 'q'], ssh: true },
    refusals: [
      "spec.ssh: Forbidden: SSH needs the marketplace's own entrypoint: write command beside args, or leave ssh out",
    ],
  },
  {
    given: 'B01: args beside a script',
    spec: { ...base, args: ['--model', 'q'], onStart: 'date' },
    refusals: [
      'spec.onStart: Forbidden: onStart would not run beside args: write command with the script, or leave args out',
    ],
  },
  {
    given: 'B01: args beside a script of a Secret',
    spec: { ...base, args: [], onStartFrom: { secretKeyRef: { name: 's', key: 'k' } } },
    refusals: [
      'spec.onStartFrom: Forbidden: onStartFrom would not run beside args: write command with the script, or leave args out',
    ],
  },
  {
    given: 'B01: a command beside a script',
    spec: { ...base, command: ['date'], onStart: 'date' },
    refusals: [
      'spec.onStart: Forbidden: write command or onStart, not both: each sets the program of the container',
    ],
  },
  {
    given: 'B01: a command beside a script of a Secret',
    spec: { ...base, command: ['date'], onStartFrom: { secretKeyRef: { name: 's', key: 'k' } } },
    refusals: [
      'spec.onStartFrom: Forbidden: write command or onStartFrom, not both: each sets the program of the container',
    ],
  },
  {
    given: 'B01: another entrypoint beside SSH',
    spec: { ...base, command: ['serve'], entrypoint: 'Override', ssh: true },
    refusals: [
      "spec.ssh: Forbidden: SSH needs the marketplace's own entrypoint: write entrypoint: Keep, or leave ssh out",
    ],
  },
  {
    given: 'B01: an entrypoint without a command',
    spec: { ...base, args: ['x'], entrypoint: 'Override' },
    refusals: [
      'spec.entrypoint: Forbidden: entrypoint says how command runs: write command, or leave entrypoint out',
    ],
  },
  {
    given: 'B01: a command without a program',
    spec: { ...base, command: ['', 'x'] },
    refusals: ['spec.command: Invalid value: write the program as the first word of command'],
  },
  {
    given: 'B01: a word of command with a NUL character',
    spec: { ...base, command: ['a\u0000b'] },
    refusals: ['spec.command[0]: Invalid value: "a\\x00b": write a word without NUL characters'],
  },
  {
    given: 'B01: a word with a NUL character',
    spec: { ...base, args: ['a\u0000b'] },
    refusals: ['spec.args[0]: Invalid value: "a\\x00b": write a word without NUL characters'],
  },
];

const LEASE_NEEDS_SCRIPT =
  'spec.lease: Forbidden: a lease needs a start script, which does not run beside args or entrypoint Override: write command, or leave lease out';
const LEASE_DESTROYS =
  'spec.lease: Forbidden: a lease destroys the machine: write deletionPolicy: Destroy, or leave lease out';
const leased = { ...base, lease: { duration: '2h', by: 'Program' } };

const leases: readonly Refused[] = [
  { given: 'a lease that a program renews', spec: leased, refusals: [] },
  {
    given: 'a lease that the operator renews',
    spec: { ...base, ssh: true, lease: { duration: '30m', by: 'SSH' } },
    refusals: [],
  },
  {
    given: 'a lease that the operator renews by its replies',
    spec: { ...base, lease: { duration: '30m', by: 'Report' } },
    refusals: [],
  },
  {
    given: 'a lease of a day beside a command',
    spec: { ...base, command: ['serve'], args: ['--fast'], lease: { duration: '24h', by: 'Program' } },
    refusals: [],
  },
  {
    given: 'a lease that ends during a short outage',
    spec: { ...base, lease: { duration: '29m', by: 'Program' } },
    refusals: ['spec.lease.duration: Invalid value: "29m": write at least 30m'],
  },
  {
    given: 'a lease that ends no bill in a day',
    spec: { ...base, lease: { duration: '25h', by: 'Program' } },
    refusals: ['spec.lease.duration: Invalid value: "25h": write at most 24h'],
  },
  {
    given: 'a lease by SSH without the SSH port',
    spec: { ...base, lease: { duration: '2h', by: 'SSH' } },
    refusals: [
      'spec.lease.by: Forbidden: lease.by SSH needs the SSH port: write ssh: true, or by: Report or Program',
    ],
  },
  {
    given: 'a lease beside args alone',
    spec: { ...leased, args: ['--model', 'q'] },
    refusals: [LEASE_NEEDS_SCRIPT],
  },
  {
    given: 'a lease beside an entrypoint of the command',
    spec: { ...leased, command: ['serve'], entrypoint: 'Override' },
    refusals: [LEASE_NEEDS_SCRIPT],
  },
  ...['Stop', 'Retain'].map((deletionPolicy) => ({
    given: `a lease beside deletionPolicy: ${deletionPolicy}`,
    spec: { ...leased, deletionPolicy },
    refusals: [LEASE_DESTROYS],
  })),
];

const run = (change: object) => ({ ...base, command: ['python', 'train.py'], completion: {}, ...change });
const COMPLETION_CHANGED =
  'spec.completion: Forbidden: completion cannot change: create another object for another run';

const runs: readonly Refused[] = [
  { given: 'a run of a command', spec: run({ args: ['--epochs', '3'] }), refusals: [] },
  {
    given: 'a run of a script with every field of completion',
    spec: {
      ...{ ...base, onStart: './train.sh' },
      completion: {
        ...{ onSuccess: 'Stop', onFailure: 'Keep', backoffLimit: 0, retryCodes: [1, 255], lostLimit: 0 },
        ...{ stopGrace: '0s', ttlAfterFinished: '24h', logBytes: '0' },
      },
    },
    refusals: [],
  },
  {
    given: 'a run with a name that no Service may have',
    name: '1-run',
    spec: run({}),
    refusals: [],
  },
  {
    given: 'a run of args alone',
    spec: { ...base, args: ['--epochs', '3'], completion: {} },
    refusals: [
      'spec.args: Forbidden: with args alone the marketplace shows no exit code: write command beside args',
    ],
  },
  {
    given: 'a run without a program',
    spec: { ...base, completion: {} },
    refusals: [
      'spec.command: Required value: completion needs a program that ends: write command, onStart or onStartFrom',
    ],
  },
  {
    given: 'a run on an adopted machine',
    spec: run({ adopt: { instanceId: '4711' } }),
    refusals: [
      'spec.adopt: Forbidden: an adopted machine has no wrapper that reports an exit code: leave adopt or completion out',
    ],
  },
  {
    given: 'a run that is retried too often',
    spec: run({ completion: { backoffLimit: 101 } }),
    refusals: [
      'spec.completion.backoffLimit: Invalid value: 101: spec.completion.backoffLimit in body should be less than or equal to 100',
    ],
  },
  {
    given: 'a retry of success',
    spec: run({ completion: { retryCodes: [0] } }),
    refusals: [
      'spec.completion.retryCodes[0]: Invalid value: 0: spec.completion.retryCodes[0] in body should be greater than or equal to 1',
    ],
  },
  {
    given: 'a long grace',
    spec: run({ completion: { stopGrace: '11m' } }),
    refusals: ['spec.completion.stopGrace: Invalid value: "11m": write at most 10m'],
  },
  {
    given: 'a large log',
    spec: run({ completion: { logBytes: '257Ki' } }),
    refusals: ['spec.completion.logBytes: Invalid value: "257Ki": write a size from 0 to 256Ki'],
  },
  {
    given: 'a log that is no size',
    spec: run({ completion: { logBytes: 'all' } }),
    refusals: ['spec.completion.logBytes: Invalid value: "all": write a size with its unit, such as 64Ki'],
  },
  {
    given: 'a change of a run',
    was: run({}),
    spec: run({ completion: { backoffLimit: 7 } }),
    refusals: [COMPLETION_CHANGED],
  },
  {
    given: 'a service that becomes a run',
    was: { ...base, command: ['python', 'train.py'] },
    spec: run({}),
    refusals: [COMPLETION_CHANGED],
  },
];

const changes: readonly Refused[] = [
  {
    given: 'another account',
    was: base,
    spec: { ...base, accountRef: { name: 'b' } },
    refusals: [ACCOUNT_CHANGED],
  },
  {
    given: "another account's namespace",
    was: base,
    spec: { ...base, accountRef: { name: 'default', namespace: 'b' } },
    refusals: [ACCOUNT_CHANGED],
  },
  {
    given: 'adoption by an object that rents',
    was: base,
    spec: { ...base, adopt: { instanceId: '7' } },
    refusals: [ADOPT_CHANGED],
  },
  {
    given: 'another machine to adopt',
    was: { ...base, adopt: { instanceId: '7' } },
    spec: { ...base, adopt: { instanceId: '8' } },
    refusals: [ADOPT_CHANGED],
  },
  {
    given: 'a rental by an object that adopted',
    was: { ...base, adopt: { instanceId: '7' } },
    spec: base,
    refusals: [ADOPT_CHANGED],
  },
  {
    given: 'a new image, price and power state',
    was: base,
    spec: { ...base, image: 'b', offers: [{ maxPricePerHour: '1' }], powerState: 'Stopped' },
    refusals: [],
  },
  {
    given: 'a change to Retain',
    was: base,
    spec: { ...base, deletionPolicy: 'Retain' },
    refusals: [],
  },
];

/** GpuInstances that the API server refuses, and the lines that a user reads. */
export const refusedInstances: readonly Refused[] = [
  ...offers,
  ...container,
  ...starts,
  ...life,
  ...leases,
  ...idle,
  ...runs,
  ...changes,
];
