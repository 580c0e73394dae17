import * as z from 'zod';
import { containerPort, envVar, namespaceName, objectName, readinessProbe, secretSource } from './core.ts';
import { MIN_IDENTITY_PORT } from './identity-port.ts';
import { IMAGE_FORMS, MAX_IMAGE_LENGTH } from './image-reference.ts';
import { offerRequirements } from './offer-requirements.ts';
import {
  type CelRule,
  choice,
  dollars,
  duration,
  flag,
  immutable,
  immutableField,
  integer,
  line,
  list,
  notes,
  text,
  textOfForms,
  whereWritten,
  writtenMarketplaceId,
} from './schema.ts';

/** Maximum of `idle.below`: a machine at half its utilization is in use. */
export const MAX_IDLE_PERCENT = 50;

/** Maximum time of loading, whatever the progress of an image pull. */
export const LOADING_HARD_CAP = '60m';

const accountRef = z
  .object({
    name: objectName('The MarketplaceAccount.').default('default'),
    namespace: namespaceName("The account's namespace; this object's own when left out.").optional(),
  })
  .meta(
    notes({
      description: 'The account that rents and pays. Immutable.',
      rules: [
        immutable('accountRef cannot change: delete this object and create another for the other account'),
      ],
    }),
  );

const image = textOfForms({
  description: 'The container image. Required, unless a machine is adopted that is never replaced.',
  example: 'nvidia/cuda:12.9.1-runtime-ubuntu24.04',
  maxLength: MAX_IMAGE_LENGTH,
  forms: IMAGE_FORMS,
});

const MAX_WORDS = 64;

const argument = line({
  description: 'One word, passed on unchanged.',
  maxLength: 2_048,
  pattern: '^[^\\x00]*$',
  write: 'write a word without NUL characters',
});

const disk = text({
  description:
    'Disk of the machine; rounded up to whole decimal GB. It bills while the machine is stopped, too.',
  example: '64G',
  form: 'quantity',
  maxLength: 16,
  rules: [
    { rule: 'isQuantity(self)', message: 'write a size with its unit, such as 32G or 32Gi' },
    {
      rule: "!isQuantity(self) || (quantity(self).compareTo(quantity('8G')) >= 0 && quantity(self).compareTo(quantity('100T')) <= 0)",
      message: 'write a size with its unit between 8G and 100T, such as 32Gi',
    },
  ],
});

const timeouts = z
  .object({
    provisioning: duration({
      description: 'Time from the rental until the machine loads.',
      min: '1s',
      max: '24h',
    }).default('5m'),
    loading: duration({
      description: `Without progress while the image loads; ${LOADING_HARD_CAP} in all, however much progress is seen.`,
      min: '1s',
      max: LOADING_HARD_CAP,
    }).default('20m'),
    start: duration({
      description: 'Time from a start until a stopped machine runs.',
      min: '1s',
      max: '24h',
    }).default('2m'),
  })
  .meta(notes({ description: 'Timeouts after which the machine counts as lost.' }));

const tolerance = z
  .object({
    exitedSeen: integer({
      description: 'Consecutive lists that must show `exited`.',
      min: 1,
      max: 100,
    }).default(2),
    unknown: duration({
      description: 'Tolerated time of `unknown` (no heartbeat from the host).',
      max: '24h',
    }).default('60s'),
    offline: duration({
      description: 'Tolerated time of `offline` (the host is disconnected).',
      max: '24h',
    }).default('60s'),
  })
  .meta(notes({ description: 'Tolerated outages before a machine counts as lost.' }));

const replacement = z
  .object({
    policy: choice(['Always', 'Never'], { description: 'Policy for a lost machine.' }).default('Always'),
    tolerance: tolerance.prefault({}),
    maxPerHour: integer({
      description: 'Maximum number of rentals in one hour, including successful ones.',
      min: 1,
      max: 100,
    }).default(5),
  })
  .meta(
    notes({
      description: 'Replacement of a lost machine: it is destroyed, confirmed gone, then another is rented.',
    }),
  );

const adopt = z
  .object({
    instanceId: writtenMarketplaceId({
      description: 'The id of the machine at the marketplace.',
      example: '"4711"',
    }),
    policy: choice(['Manage', 'Observe'], {
      description:
        'Manage: the operator labels and claims it. Observe: the operator shows it, and never stops, destroys or relabels it.',
    }).default('Manage'),
  })
  .meta(
    notes({
      description: 'Adopts an existing machine instead of renting one, if the account allows it. Immutable.',
      example: '{instanceId: "4711", policy: Observe}',
    }),
  );

/**
 * Limits of {@link lease}: a shorter lease would end work during an outage, a longer one would not limit costs.
 */
const LEASE_DURATION = { min: '30m', max: '24h' };

const lease = z
  .object({
    duration: duration({
      description:
        'Time without a renewal after which the machine destroys itself. Renewed each fifth of it, or earlier.',
      example: '2h',
      ...LEASE_DURATION,
    }),
    by: choice(['SSH', 'Report', 'Program'], {
      description:
        'Who renews. SSH: the operator, by the SSH port of the machine. Report: the operator, by its replies to requests of the machine; it needs the flag --worker-report-url. Program: your program, by a change of /var/tmp/.gpurental/renew.',
    }),
  })
  .meta(
    notes({
      description:
        'Time after which the machine destroys itself if its lease is not renewed: also when the cluster is gone. Armed by the first renewal. It needs deletionPolicy Destroy.',
      example: '{duration: 2h, by: SSH}',
    }),
  );

/** Bounds of {@link idle}: a shorter time ends a machine between two steps of its work. */
const IDLE_AFTER = { min: '15m', max: '168h' };

const idle = z
  .object({
    after: duration({
      description:
        'Time for which the GPUs must be idle. It begins 15 minutes after the machine runs. A missing figure, or lists that fail, make it longer.',
      example: '30m',
      ...IDLE_AFTER,
    }),
    below: integer({
      description: 'Percent of GPU utilization below which a machine is idle.',
      min: 1,
      max: MAX_IDLE_PERCENT,
    }).default(5),
    action: choice(['Report', 'Stop', 'Destroy'], {
      description:
        'What follows. Report: the condition Idle and an event. Stop: the machine keeps its disk, which bills. Destroy: the machine is destroyed with its disk. After Stop and Destroy nothing runs or is rented until `gpu-rent start`.',
    }).default('Report'),
    warning: duration({
      description: 'Time before Stop or Destroy at which a Warning event and the condition Idle name it.',
      example: '10m',
      min: '1m',
      max: '24h',
    }).default('10m'),
  })
  .meta(
    notes({
      description:
        'What happens to a machine whose GPUs are idle. The annotation gpurental.dev/idle-extend-until (a time) delays it, gpurental.dev/hold and paused prevent it. Not for workers of a group.',
      example: '{after: 30m, action: Destroy}',
      rules: [
        {
          rule: whereWritten(
            'duration',
            ['self.warning', 'self.after'],
            'duration(self.warning) < duration(self.after)',
          ),
          message: 'write a warning that is shorter than after',
          messageExpression:
            "'warning ' + self.warning + ' is not shorter than after ' + self.after + ': lower the one or raise the other'",
          fieldPath: '.warning',
        },
      ],
    }),
  );

/** `maxLifetime` of a run that sets none: the limit that its machine can enforce without the operator. */
export const RUN_MAX_LIFETIME = '24h';

const afterRun = (when: string) =>
  choice(['Destroy', 'Stop', 'Keep'], {
    description: `Treatment of the machine ${when}. Destroy: destroyed with its disk. Stop: stopped, and its disk bills. Keep: as it is, also if it bills.`,
  }).default('Destroy');

const completion = z
  .object({
    onSuccess: afterRun('after exit code 0'),
    onFailure: afterRun('after the last attempt failed'),
    backoffLimit: integer({
      description:
        'Attempts after the first for exit codes other than 0. Each rents another machine, after 10 s, doubling to 5 min.',
      min: 0,
      max: 100,
    }).default(3),
    retryCodes: list(integer({ description: 'An exit code.', min: 1, max: 255 }), {
      description:
        'Exit codes that are retried. All but 0 if left out or empty; any other code fails the run.',
      example: '[1, 137]',
      max: 64,
      list: { type: 'atomic' },
    }).optional(),
    lostLimit: integer({
      description:
        'Maximum number of machines that are lost, outbid, or end without a known result. They do not count for backoffLimit.',
      min: 0,
      max: 1_000,
    }).default(20),
    stopGrace: duration({
      description:
        'Maximum time between the stop and the destroy of a running machine, after cancellation, deletion or a limit.',
      max: '10m',
    }).default('30s'),
    ttlAfterFinished: duration({
      description: 'Time after the end of the run at which the operator deletes this object.',
      example: '24h',
    }).optional(),
    logBytes: text({
      description:
        'Maximum size of the log that is kept in the Secret `NAME-log`, from the end of the output. 0 keeps none. A namespace keeps its newest 100 logs; the operator cuts older ones to 1Ki.',
      form: 'quantity',
      maxLength: 16,
      rules: [
        { rule: 'isQuantity(self)', message: 'write a size with its unit, such as 64Ki' },
        {
          rule: "!isQuantity(self) || (quantity(self).compareTo(quantity('0')) >= 0 && quantity(self).compareTo(quantity('256Ki')) <= 0)",
          message: 'write a size from 0 to 256Ki',
        },
      ],
    }).default('64Ki'),
  })
  .meta(
    notes({
      description: `Makes the object a run: its program ends with an exit code, and the machine is rented until then. The machine reports the code through its log and files, and stops itself. A run has no Service, and a maxLifetime of ${RUN_MAX_LIFETIME} if none is set. Immutable.`,
      example: '{backoffLimit: 1, ttlAfterFinished: 24h}',
    }),
  );

const PROBE_PORT_DECLARED = (action: string): string =>
  `!has(self.readinessProbe) || !has(self.readinessProbe.${action}) || (self.ssh && self.readinessProbe.${action}.port == 22) || (has(self.ports) && self.ports.exists(p, p.containerPort == self.readinessProbe.${action}.port || (has(p.name) && p.name == self.readinessProbe.${action}.port)))`;

const CAN_DO_WITHOUT_RENTING =
  "has(self.adopt) && (self.adopt.policy == 'Observe' || self.replacement.policy == 'Never')";

/** Rules of {@link startFields}: they refuse values that the marketplace would drop silently. */
const startRules: readonly CelRule[] = [
  {
    rule: '!(has(self.onStart) && has(self.onStartFrom))',
    message: 'write onStart or onStartFrom, not both',
    fieldPath: '.onStartFrom',
    reason: 'FieldValueForbidden',
  },
  ...(['onStart', 'onStartFrom'] as const).flatMap((script): CelRule[] => [
    {
      rule: `!(has(self.command) && has(self.${script}))`,
      message: `write command or ${script}, not both: each sets the program of the container`,
      fieldPath: `.${script}`,
      reason: 'FieldValueForbidden',
    },
    {
      rule: `!(has(self.args) && !has(self.command) && has(self.${script}))`,
      message: `${script} would not run beside args: write command with the script, or leave args out`,
      fieldPath: `.${script}`,
      reason: 'FieldValueForbidden',
    },
  ]),
  {
    rule: '!(has(self.args) && !has(self.command) && self.ssh)',
    message: "SSH needs the marketplace's own entrypoint: write command beside args, or leave ssh out",
    fieldPath: '.ssh',
    reason: 'FieldValueForbidden',
  },
  {
    rule: "!(has(self.entrypoint) && self.entrypoint == 'Override' && self.ssh)",
    message: "SSH needs the marketplace's own entrypoint: write entrypoint: Keep, or leave ssh out",
    fieldPath: '.ssh',
    reason: 'FieldValueForbidden',
  },
  {
    rule: '!has(self.entrypoint) || has(self.command)',
    message: 'entrypoint says how command runs: write command, or leave entrypoint out',
    fieldPath: '.entrypoint',
    reason: 'FieldValueForbidden',
  },
  {
    rule: "!has(self.command) || self.command[0] != ''",
    message: 'write the program as the first word of command',
    fieldPath: '.command',
  },
];

const leaseRules: readonly CelRule[] = [
  {
    rule: "!has(self.lease) || self.lease.by != 'SSH' || self.ssh",
    message: 'lease.by SSH needs the SSH port: write ssh: true, or by: Report or Program',
    fieldPath: '.lease.by',
    reason: 'FieldValueForbidden',
  },
  {
    rule: "!has(self.lease) || !(has(self.args) && !has(self.command)) && !(has(self.entrypoint) && self.entrypoint == 'Override')",
    message:
      'a lease needs a start script, which does not run beside args or entrypoint Override: write command, or leave lease out',
    fieldPath: '.lease',
    reason: 'FieldValueForbidden',
  },
  {
    rule: "!has(self.lease) || self.deletionPolicy == 'Destroy'",
    message: 'a lease destroys the machine: write deletionPolicy: Destroy, or leave lease out',
    fieldPath: '.lease',
    reason: 'FieldValueForbidden',
  },
];

const idleRules: readonly CelRule[] = [
  {
    rule: "!has(self.idle) || self.idle.action != 'Destroy' || self.deletionPolicy == 'Destroy'",
    message:
      'idle.action Destroy destroys the machine, which deletionPolicy keeps: write deletionPolicy: Destroy, or another action',
    fieldPath: '.idle.action',
    reason: 'FieldValueForbidden',
  },
  {
    rule: "!has(self.idle) || !has(self.adopt) || self.adopt.policy != 'Observe'",
    message: 'a machine that is only observed is never ended: write policy: Manage, or leave idle out',
    fieldPath: '.idle',
    reason: 'FieldValueForbidden',
  },
];

const completionRules: readonly CelRule[] = [
  immutableField('completion', 'completion cannot change: create another object for another run'),
  {
    rule: '!has(self.completion) || !(has(self.args) && !has(self.command))',
    message: 'with args alone the marketplace shows no exit code: write command beside args',
    fieldPath: '.args',
    reason: 'FieldValueForbidden',
  },
  {
    rule: '!has(self.completion) || has(self.command) || has(self.onStart) || has(self.onStartFrom) || has(self.args)',
    message: 'completion needs a program that ends: write command, onStart or onStartFrom',
    fieldPath: '.command',
    reason: 'FieldValueRequired',
  },
  {
    rule: '!has(self.completion) || !has(self.adopt)',
    message: 'an adopted machine has no wrapper that reports an exit code: leave adopt or completion out',
    fieldPath: '.adopt',
    reason: 'FieldValueForbidden',
  },
];

const specRules: readonly CelRule[] = [
  ...leaseRules,
  ...idleRules,
  ...completionRules,
  immutableField('adopt', 'adopt cannot change: create another object for another machine'),
  {
    rule: `${CAN_DO_WITHOUT_RENTING} || (has(self.offers) && size(self.offers) > 0)`,
    message:
      'write at least one alternative under offers; it may be left out only for an adopted machine that is never replaced',
    fieldPath: '.offers',
    reason: 'FieldValueRequired',
  },
  {
    rule: `${CAN_DO_WITHOUT_RENTING} || has(self.image)`,
    message: 'write an image; it may be left out only for an adopted machine that is never replaced',
    fieldPath: '.image',
    reason: 'FieldValueRequired',
  },
  ...startRules,
  {
    rule: '!has(self.ports) || self.ports.all(p, !has(p.name) || self.ports.exists_one(q, has(q.name) && q.name == p.name))',
    message: 'give each port a name of its own',
    fieldPath: '.ports',
  },
  ...(['TCP', 'UDP'] as const).map((protocol) => ({
    rule: `!has(self.ports) || self.ports.filter(p, p.protocol == '${protocol}' && p.containerPort >= ${MIN_IDENTITY_PORT}).size() <= 1`,
    message: `write one ${protocol} port from ${MIN_IDENTITY_PORT} on: of several, the mapping of each is unknown`,
    fieldPath: '.ports',
  })),
  {
    rule: PROBE_PORT_DECLARED('httpGet'),
    message:
      'readinessProbe.httpGet.port must be a name or number under ports: only those are mapped to a public port',
    fieldPath: '.readinessProbe.httpGet.port',
  },
  {
    rule: PROBE_PORT_DECLARED('tcpSocket'),
    message: 'readinessProbe.tcpSocket.port must be a name or number under ports, or 22 with ssh: true',
    fieldPath: '.readinessProbe.tcpSocket.port',
  },
];

/** Fields of the rental and its account. */
const rentingFields = {
  accountRef: accountRef.prefault({}),
  offers: list(offerRequirements, {
    description: 'Alternatives of what may be rented, tried in this order.',
    example: '[{gpuNames: [RTX 4090], maxPricePerHour: "0.80"}]',
    max: 8,
    list: { type: 'atomic' },
  }).optional(),
  disk: disk.default('10G'),
  adopt: adopt.optional(),
};

/** Fields of the container's start. */
const startFields = {
  command: list(argument, {
    description:
      "The program to run, word by word, in place of the image's own. With entrypoint Keep it runs in the marketplace's shell, beside SSH; args follow it.",
    example: '[python, train.py]',
    min: 1,
    max: MAX_WORDS,
    list: { type: 'atomic' },
  }).optional(),
  args: list(argument, {
    description:
      'Words for the program, sent as a list and never joined. Without command the image runs as it was built, with these in place of its CMD, and without SSH; `[]` changes nothing of the image. Together with a command of entrypoint Override at most 4096 bytes.',
    example: '[--model, Qwen/Qwen3-8B, --port, "8000"]',
    max: MAX_WORDS,
    list: { type: 'atomic' },
  }).optional(),
  entrypoint: choice(['Keep', 'Override'], {
    description:
      "How command runs; Keep when left out. Keep: as a script of the marketplace's SSH mode. Override: in place of the image's ENTRYPOINT, without SSH.",
  }).optional(),
  onStart: text({
    description:
      'A script that runs when the container starts. The marketplace accepts 4048 characters; a longer one is packed (gzip, base64) and refused if it is still too long.',
    example: '"nvidia-smi && ./train.sh"',
    maxLength: 65_536,
  }).optional(),
  onStartFrom: secretSource
    .meta(
      notes({
        description: 'The same script out of a Secret. A changed Secret is used at the next rental.',
      }),
    )
    .optional(),
};

/** Fields of the container. */
const containerFields = {
  image: image.optional(),
  imagePullSecretRef: z
    .object({
      name: objectName('A Secret of type kubernetes.io/dockerconfigjson in the namespace of this object.'),
    })
    .meta(
      notes({
        description: 'Credentials for a private image. A changed Secret is used at the next rental.',
      }),
    )
    .optional(),
  env: list(envVar, {
    description: 'Environment variables of the container. A changed Secret is used at the next rental.',
    example: '[{name: MODEL, value: llama}]',
    max: 128,
    list: { type: 'map', keys: ['name'] },
  }).optional(),
  ports: list(containerPort, {
    description:
      'Ports of the container that must be reachable from outside. Offers with fewer direct ports are refused.',
    example: '[{name: http, containerPort: 8080}]',
    max: 32,
    list: { type: 'map', keys: ['containerPort', 'protocol'] },
  }).optional(),
  ssh: flag({
    description:
      'True if SSH is needed. The operator then rents nothing until the login has a registered SSH key.',
  }).default(false),
  readinessProbe: readinessProbe.optional(),
};

/** Fields of the machine's life and of changes. */
const lifeFields = {
  powerState: choice(['Running', 'Stopped'], {
    description: 'Stopped: the machine keeps its disk, which bills, and no GPU.',
  }).default('Running'),
  paused: flag({
    description: 'Stop renting and replacing for this object. It is still watched, and can be deleted.',
  }).default(false),
  timeouts: timeouts.prefault({}),
  replacement: replacement.prefault({}),
  onVanish: choice(['Recreate', 'Hold'], {
    description:
      'Policy after the machine is gone and the operator did not destroy it: another client did, or its own fuse.',
  }).default('Recreate'),
  onContractEnd: choice(['Replace', 'Keep'], {
    description:
      'Policy after the rental contract ended and the marketplace stopped the machine. `Replace`, also if left out: it is replaced once another machine can be rented, and its disk is lost. `Keep`: it stays stopped, so that its disk can be read for as long as the host keeps it.',
  }).optional(),
  onPriceAbove: choice(['Report', 'Replace'], {
    description:
      'Policy if the real price is more than 5 % above that of the offer, or above the maximum in `offers`. A limit of the account ends no machine.',
  }).default('Report'),
  updateStrategy: z
    .object({
      type: choice(['Replace', 'OnDelete'], {
        description:
          'Replace: a machine that the changed spec would not rent is replaced. OnDelete: the spec is used by the next machine.',
      }).default('Replace'),
    })
    .meta(notes({ description: 'Effect of a changed spec on the running machine.' }))
    .prefault({}),
  deletionPolicy: choice(['Destroy', 'Stop', 'Retain'], {
    description:
      'Effect of the deletion of this object on the machine. Stop and Retain leave a machine that bills. It may be changed to Retain during deletion, if the key is lost.',
  }).default('Destroy'),
  maxLifetime: duration({
    description:
      'Maximum time for which the object has machines; then the deletion policy is applied to the machine. With `deletionPolicy: Destroy` a machine also ends itself, 10 minutes of running later.',
    example: '8h',
    min: '1m',
  }).optional(),
  lease: lease.optional(),
  idle: idle.optional(),
  completion: completion.optional(),
  maxTotalCost: dollars({
    description:
      'Maximum cost of all its machines together; then the deletion policy is applied to the machine. 0 does that at once.',
    example: '"25"',
  }).optional(),
};

const serviceField = (byDefault: boolean) =>
  z
    .object({
      enabled: flag({ description: 'True to create a Service of the same name for the machine.' }).default(
        byDefault,
      ),
    })
    .meta(notes({ description: 'Access to the machine inside the cluster.' }))
    .prefault({});

/**
 * Returns the schema of a GpuInstance's spec. In the template of a group only the default of the Service differs: a
 * group publishes its workers itself.
 */
export function gpuInstanceSpecSchema(options: { readonly serviceByDefault: boolean }) {
  return z
    .object({
      ...rentingFields,
      ...containerFields,
      ...startFields,
      ...lifeFields,
      service: serviceField(options.serviceByDefault),
    })
    .meta(notes({ description: 'The desired state.', rules: specRules }));
}
