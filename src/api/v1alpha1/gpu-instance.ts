import * as z from 'zod';
import { gpuInstanceSpecSchema } from './gpu-instance-spec.ts';
import { type CustomObject, conditions, observedGeneration } from './object.ts';
import { outage } from './outage.ts';
import { choice, dollars, flag, integer, list, marketplaceId, notes, text, timestamp } from './schema.ts';

/** States of a machine; the compiler compares them with those of the market port. */
const machineStates = [
  'pending',
  'loading',
  'running',
  'stopped',
  'exited',
  'unseen',
  'offline',
  'broken',
  'ended',
  'unrecognized',
] as const;

export const gpuInstanceSpec = gpuInstanceSpecSchema({ serviceByDefault: true });

/** Text for people; derived from the conditions and never read back. */
export const gpuInstancePhases = [
  'Pending',
  'Renting',
  'Provisioning',
  'Loading',
  'Running',
  'Starting',
  'Stopping',
  'Stopped',
  'Lost',
  'Replacing',
  'Paused',
  'Observed',
  'Deleting',
  'Succeeded',
  'Failed',
] as const;

/** Maximum characters of `status.sealedKey`. */
export const MAX_SEALED_KEY = 1024;

const count = (description: string) => z.int().meta(notes({ description }));

const mappedPort = z.object({
  containerPort: integer({ description: 'The port inside the container.', min: 1, max: 65535 }),
  protocol: choice(['TCP', 'UDP'], { description: 'The transport protocol.' }),
  publicPort: integer({ description: 'The port at the public address.', min: 1, max: 65535 }),
  name: text({ description: 'The name in `spec.ports`.', maxLength: 15 }).optional(),
});

const gpu = z
  .object({
    name: text({ description: 'The model.', maxLength: 128 }),
    count: count('How many.'),
    memory: text({ description: 'Memory of one GPU as a quantity.', maxLength: 32 }).optional(),
  })
  .meta(notes({ description: 'What was rented.', atomic: true }));

const cost = z
  .object({
    pricePerHour: dollars({
      description: 'Present hourly price of the machine, including the disk.',
    }).optional(),
    priceAssumed: flag({
      description:
        'The marketplace reports no price: `pricePerHour` is the price of the offer, else the maximum price of the machine.',
    }).optional(),
    priceOffered: flag({
      description: 'Lists show another price than the offer, and no price of the machine was confirmed yet.',
    }).optional(),
    storagePricePerHour: dollars({ description: 'Hourly price while stopped.' }).optional(),
    reported: z
      .object({
        pricePerHour: dollars({ description: 'The hourly price that lists show.' }),
        since: timestamp({ description: 'When lists began to show it.' }),
      })
      .meta(
        notes({
          description:
            'A price that differs from `pricePerHour` and is not confirmed yet. What it adds is provisional: only admission counts it. It becomes `pricePerHour` from `since` on when lists and a read of the machine agree, else it is dropped.',
        }),
      )
      .optional(),
    accrued: dollars({ description: 'Cost of all machines of this object until `since`.' }),
    accruedBeforeMonth: dollars({
      description: 'Part of `accrued` from before the month (UTC) of `since`; left out if it is 0.',
    }).optional(),
    since: timestamp({
      description: 'End of `accrued`; from then on add `pricePerHour` if it is set.',
    }).optional(),
  })
  .meta(
    notes({
      description: 'Money. What it cost until now: `accrued` + `pricePerHour` × time since `since`.',
      atomic: true,
    }),
  );

const avoided = z.object({
  kind: choice(['Offer', 'Machine', 'Host'], { description: 'What is avoided.' }),
  id: marketplaceId("The marketplace's id of it."),
  until: timestamp({ description: 'When it may be rented again.' }),
});

const machineFact = z.object({
  field: text({ description: "A field of an offer by the marketplace's name, or `pricing`.", maxLength: 64 }),
  value: text({ description: 'Its value as text.', maxLength: 256 }),
});

const pastMachine = z.object({
  attempt: count('Number of this rental of the object.'),
  instanceId: marketplaceId("The machine's contract."),
  machineId: marketplaceId('The physical machine.').optional(),
  hostId: marketplaceId('Its host.').optional(),
  gpuName: text({ description: 'The GPU model.', maxLength: 128 }).optional(),
  gpuCount: count('Number of GPUs.').optional(),
  reason: text({ description: 'Reason of its end, from the catalogue.', maxLength: 128 }),
  endedAt: timestamp({ description: 'When it ended.' }),
  provenGoneAt: timestamp({
    description:
      'When a machine that vanished was proven gone; left out if the reply to a destroy dates the end. Slow replacement counts from here.',
  }).optional(),
  rentedMinutes: count('Minutes for which it was rented.'),
  cost: dollars({ description: 'What it cost.' }),
  costBeforeMonth: dollars({
    description: 'Part of `cost` from before the month (UTC) of `endedAt`; left out if it is 0.',
  }).optional(),
  costEstimated: flag({ description: 'Lists never confirmed the last price in `cost`.' }).optional(),
  accrued: dollars({ description: 'Cost of all machines of this object until its end.' }).optional(),
  pricePerHour: dollars({ description: 'Hourly price at its end.' }).optional(),
  rentedAt: timestamp({ description: 'When it was rented.' }).optional(),
  runningAt: timestamp({
    description: 'When it was first seen running; left out if it never ran.',
  }).optional(),
  lastStatus: text({
    description: "The marketplace's own word for its last state.",
    maxLength: 64,
  }).optional(),
});

/** Maximum characters of `status.run.message`. */
export const MAX_RUN_MESSAGE = 1_024;

const run = z
  .object({
    exitCode: integer({
      description: 'Exit code of the last program that ended.',
      min: 0,
      max: 255,
    }).optional(),
    message: text({
      description: 'Last lines of the log of that program.',
      maxLength: MAX_RUN_MESSAGE,
    }).optional(),
    startedAt: timestamp({
      description: 'When the first machine of the run was first seen running.',
    }).optional(),
    finishedAt: timestamp({ description: 'When the operator recorded the result of the run.' }).optional(),
    attempts: count('Machines that were rented for the run.').optional(),
    lost: count('Machines that were lost, outbid, or ended without a known result.').optional(),
    log: z
      .object({
        secretRef: z.object({ name: text({ description: 'The Secret.', maxLength: 253 }) }).meta(
          notes({
            description: 'Secret in this namespace with the log, packed by gzip, under the key `log`.',
          }),
        ),
        bytes: count('Bytes of the log before it was packed.'),
        truncated: flag({ description: 'True if the beginning of the log is missing.' }),
      })
      .meta(notes({ description: 'Log of the last program that ended.', atomic: true }))
      .optional(),
    failed: count('Attempts that ended with an exit code other than 0.').optional(),
    outcome: text({
      description: 'Reason of the end of the run, from the catalogue; left out before the end.',
      maxLength: 128,
    }).optional(),
    collectingSince: timestamp({
      description: 'Start of the search for the result of the machine; left out if its result is settled.',
    }).optional(),
    settled: z
      .object({
        attempt: count('Number of the rental.'),
        reason: text({ description: 'Result of its machine, from the catalogue.', maxLength: 128 }),
        at: timestamp({ description: 'When the operator recorded it.' }),
      })
      .meta(
        notes({
          description: 'Last rental whose result is known or given up: only then its machine ends.',
          atomic: true,
        }),
      )
      .optional(),
    stopped: flag({
      description:
        'True after the operator requested a stop of the machine, so that its stop is not the end of the program.',
    }).optional(),
  })
  .meta(notes({ description: 'The run of an object with `spec.completion`.', atomic: true }));

/** Maximum characters of a marketplace text in a status. */
export const MAX_STATUS_TEXT = 160;

const repeatedFailure = z
  .object({
    reason: text({
      description: 'Failure of the last machine: `LoadingTimedOut`, `Exited` or `NotReachable`.',
      maxLength: 128,
    }),
    machines: count('Number of consecutive failed machines; from the second on the next rental waits.'),
    machineId: marketplaceId('The physical machine that failed last.').optional(),
    at: timestamp({
      description:
        'When it ended. The wait counts from here: 1 minute after two machines, doubling to an hour.',
    }),
    cost: dollars({ description: 'Cost of these machines together.' }),
    text: text({
      description: 'The last status text of the marketplace, in printable characters.',
      maxLength: MAX_STATUS_TEXT,
    }).optional(),
    generation: count('The generation of the spec that failed; another one begins from zero.'),
  })
  .meta(
    notes({
      description:
        'Consecutive failures of one kind, each on another machine, so the spec is the likely cause.',
      atomic: true,
    }),
  );

/** The status in memory. */
export const gpuInstanceStatus = z
  .object({
    observedGeneration: observedGeneration.optional(),
    phase: choice(gpuInstancePhases, {
      description: 'The state in one word, for people. Automation reads `conditions`.',
    }).optional(),
    conditions: conditions.optional(),
    outage: outage.optional(),
    attempt: count('Number of settled rentals of this object, including the present one.').optional(),
    instanceId: marketplaceId("The machine's contract at the marketplace.").optional(),
    claim: text({
      description: 'Proof that the operator rented `instanceId` for this object; a changed one is refused.',
      maxLength: 128,
    }).optional(),
    unconfirmed: z
      .boolean()
      .meta({
        description:
          'Only the reply to the rental names the machine: no list has shown the machine with the label of the rental. Removed by the first list that does.',
      })
      .optional(),
    sealedKey: text({
      description:
        "The machine's own API key, encrypted with the operator's identity: the marketplace gives it out once. The connection Secret has it in plain text when the machine runs.",
      maxLength: MAX_SEALED_KEY,
    }).optional(),
    offerId: marketplaceId('The offer that was rented.').optional(),
    offerIndex: count('Index of its alternative in `spec.offers`.').optional(),
    offerPricePerHour: dollars({ description: 'The price that the offer named.' }).optional(),
    machineId: marketplaceId('The physical machine.').optional(),
    hostId: marketplaceId('The host that owns it.').optional(),
    actualStatus: text({
      description: "The marketplace's own word for the state.",
      maxLength: 64,
    }).optional(),
    machineState: choice(machineStates, {
      description: 'State of the machine, if it does not follow from `actualStatus`.',
    }).optional(),
    actualStatusSince: timestamp({ description: 'Time from which it has shown this.' }).optional(),
    rentedAt: timestamp({ description: "The machine's start date by the marketplace's clock." }).optional(),
    contractEnd: z
      .object({
        at: timestamp({ description: 'When the rental contract ends, by the marketplace.' }),
        isReported: z
          .boolean()
          .meta({ description: 'An event has reported the end, a day before it.' })
          .optional(),
      })
      .meta(
        notes({
          description: 'End of the rental contract of the machine; left out if unknown.',
          atomic: true,
        }),
      )
      .optional(),
    runningAt: timestamp({ description: 'When this machine was first seen running.' }).optional(),
    lastRunAt: timestamp({
      description: 'When it was last seen to begin running again, after a stop or a silence.',
    }).optional(),
    readyAt: timestamp({ description: 'When its readiness probe first succeeded.' }).optional(),
    startRequestedAt: timestamp({
      description: 'Time of the last start request for a stopped machine.',
    }).optional(),
    answered: z
      .object({
        action: choice(['Destroy', 'Stop', 'Start'], {
          description: 'Call that the marketplace answered with success.',
        }),
        at: timestamp({
          description:
            "Time of that reply by the marketplace's clock, from which the billing after the call counts.",
        }),
        reason: text({ description: 'Reason of a destroy, from the catalogue.', maxLength: 128 }).optional(),
      })
      .meta(
        notes({
          description:
            'Last change of the power of the machine that the operator requested, until lists show it: its cost is dated by it, also after a restart.',
          atomic: true,
        }),
      )
      .optional(),
    missingSince: timestamp({
      description:
        'Start of the first complete list without the machine, while lists lack it. If the machine is gone, its cost ends at that time.',
    }).optional(),
    progressAt: timestamp({ description: 'When loading last showed progress.' }).optional(),
    firstRentedAt: timestamp({
      description: 'When the first machine was rented; `maxLifetime` counts from here.',
    }).optional(),
    specHash: text({
      description:
        'Hash of the rental request: image, disk, env, onStart, ports, ssh, in one form for all texts with the same meaning.',
      maxLength: 128,
    }).optional(),
    facts: list(machineFact, {
      description:
        'Facts of the machine at the rental. A changed requirement under `spec.offers` is compared with them; an unknown fact never replaces the machine.',
      max: 264,
      list: { type: 'atomic' },
    }).optional(),
    selfEnd: z
      .object({
        lifeSeconds: count('Seconds of running after which the machine ends itself.').optional(),
        leaseSeconds: count(
          'Seconds without a renewal after which the machine ends itself, once its lease was renewed.',
        ).optional(),
        proof: choice(['Proven', 'Unproven'], {
          description:
            'Proven: the machine has shown that it can end itself. Unproven: it has not, so perhaps only the operator ends it.',
        }),
        checkedAt: timestamp({
          description: 'When the operator settled `proof`; left out while it waits for the proof.',
        }).optional(),
        detail: text({ description: 'Reason why it is unproven.', maxLength: MAX_STATUS_TEXT }).optional(),
      })
      .meta(
        notes({
          description:
            'Fuses of the machine, set at its rental by `maxLifetime` and `lease`; left out without one.',
          atomic: true,
        }),
      )
      .optional(),
    image: text({ description: 'The image that the machine was rented with.', maxLength: 512 }).optional(),
    endpoint: text({ description: 'host:port for SSH, or of the first port.', maxLength: 300 }).optional(),
    ssh: z
      .object({
        host: text({ description: 'The host.', maxLength: 253 }),
        port: integer({ description: 'The port.', min: 1, max: 65535 }),
      })
      .meta(notes({ description: 'Where SSH answers.', atomic: true }))
      .optional(),
    publicAddress: text({ description: 'The address of direct ports.', maxLength: 253 }).optional(),
    ports: list(mappedPort, {
      description: 'Public address of each port of the container.',
      max: 64,
      list: { type: 'atomic' },
    }).optional(),
    gpu: gpu.optional(),
    cost: cost.optional(),
    rentals: list(timestamp({ description: 'When a machine was rented.' }), {
      description: 'Rentals of the last hour, for `replacement.maxPerHour`.',
      max: 128,
      list: { type: 'atomic' },
    }).optional(),
    avoid: list(avoided, {
      description: 'Offers, machines and hosts that this object avoids after failures.',
      max: 64,
      list: { type: 'atomic' },
    }).optional(),
    history: list(pastMachine, {
      description: 'The last five machines and why each ended.',
      max: 5,
      list: { type: 'atomic' },
    }).optional(),
    repeatedFailure: repeatedFailure.optional(),
    run: run.optional(),
    lease: z
      .object({
        since: timestamp({
          description:
            'Time of the first attempt to renew it. From then on it may be armed, so it is renewed regardless of the spec.',
        }).optional(),
        by: choice(['Report'], {
          description:
            'Report if the machine itself requests the renewals; left out if the operator logs in.',
        }).optional(),
        renewedAt: timestamp({
          description:
            'Time of the last renewal. After the first one, the machine ends itself if renewals stop.',
        }).optional(),
        hostKey: text({
          description: 'SHA-256 of the SSH host key of the machine, pinned at the first renewal.',
          maxLength: 128,
        }).optional(),
      })
      .meta(notes({ description: 'The lease of the machine, before it is first renewed.', atomic: true }))
      .optional(),
    idle: z
      .object({
        since: timestamp({ description: 'Since when the GPUs have been idle.' }),
        endsAt: timestamp({
          description:
            'When `spec.idle.action` follows, at the earliest; left out while something prevents it, and with Report.',
        }).optional(),
      })
      .meta(
        notes({
          description: 'Idle time of the machine, once the condition Idle reports it.',
          atomic: true,
        }),
      )
      .optional(),
    idleEndedAt: timestamp({
      description:
        'When the operator stopped or destroyed the machine because it was idle. No machine runs or is rented until `gpu-rent start`, or until `gpurental.dev/idle-extend-until` is a later time.',
    }).optional(),
    binding: z
      .object({ name: text({ description: 'The Secret.', maxLength: 253 }) })
      .meta(
        notes({
          description: 'The connection Secret, as the service binding specification names it.',
          atomic: true,
        }),
      )
      .optional(),
    requestedAt: text({
      description: 'The last handled value of `gpurental.dev/requested-at`.',
      maxLength: 253,
    }).optional(),
    replacedAt: text({
      description: 'The last handled value of `gpurental.dev/replace-at`.',
      maxLength: 253,
    }).optional(),
    idleExtended: text({
      description: 'The last reported value of `gpurental.dev/idle-extend-until`.',
      maxLength: 253,
    }).optional(),
  })
  .meta(notes({ description: 'Observed state in memory; `gpu-instance-form.ts` stores it.' }));

export type GpuInstanceSpec = z.output<typeof gpuInstanceSpec>;
/** The spec as users write it: every field with a default is optional. */
export type GpuInstanceManifestSpec = z.input<typeof gpuInstanceSpec>;
export type GpuInstanceStatus = z.output<typeof gpuInstanceStatus>;
export type GpuInstancePhase = (typeof gpuInstancePhases)[number];
/** A rented machine. */
export type GpuInstance = CustomObject<'GpuInstance', GpuInstanceSpec, GpuInstanceStatus>;
