package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

const (
	finalizer  = "peer.gpurental.dev/machine"
	intentKey  = "peer.gpurental.dev/intent"
	noOutcome  = time.Minute // how long a rental whose reply was lost may take to be listed
	attemptGap = 5 * time.Second
)

// Intent is what is bought, written to the object before the money is spent.
type Intent struct {
	Attempt int       `json:"attempt"`
	Offer   int64     `json:"offer"`
	Label   string    `json:"label"`
	At      time.Time `json:"at"`
}

type Reconciler struct {
	client.Client
	market   *Market
	recorder events.EventRecorder
	poll     time.Duration
	changed  chan event.GenericEvent
	objects  sync.Map // label to types.NamespacedName
}

func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, workers int) error {
	if err := mgr.Add(r); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		For(&GpuInstance{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		WatchesRawSource(source.Channel(r.changed, &handler.EnqueueRequestForObject{})).
		Complete(r)
}

// Start polls the marketplace once per interval for all machines, as long as this process leads.
func (r *Reconciler) Start(ctx context.Context) error {
	for {
		labels, err := r.market.Poll(ctx)
		if err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "the list failed")
		}
		for _, label := range labels {
			if name, known := r.objects.Load(label); known {
				key := name.(types.NamespacedName)
				r.changed <- event.GenericEvent{Object: &GpuInstance{
					ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
				}}
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(r.poll):
		}
	}
}

func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var instance GpuInstance
	if err := r.Get(ctx, request.NamespacedName, &instance); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	intent, err := intentOf(&instance)
	if err != nil {
		return ctrl.Result{}, err
	}
	if intent != nil {
		r.objects.Store(intent.Label, request.NamespacedName)
	}
	switch {
	case !instance.DeletionTimestamp.IsZero():
		return r.remove(ctx, &instance, intent)
	case intent == nil:
		return r.rent(ctx, &instance, 1)
	case instance.Status.InstanceID == "" || instance.Status.Attempt != intent.Attempt:
		return r.recover(ctx, &instance, intent)
	default:
		return ctrl.Result{}, r.observe(ctx, &instance)
	}
}

func intentOf(instance *GpuInstance) (*Intent, error) {
	text, found := instance.Annotations[intentKey]
	if !found {
		return nil, nil
	}
	var intent Intent
	return &intent, json.Unmarshal([]byte(text), &intent)
}

// rent writes the intent and the finalizer under the resource version, then spends.
func (r *Reconciler) rent(ctx context.Context, instance *GpuInstance, attempt int) (ctrl.Result, error) {
	maxPrice := 0.0
	if len(instance.Spec.Offers) > 0 {
		maxPrice, _ = strconv.ParseFloat(instance.Spec.Offers[0].MaxPricePerHour, 64)
	}
	offer, err := r.market.TakeOffer(ctx, maxPrice)
	if err != nil {
		return ctrl.Result{}, err
	}
	intent := Intent{
		Attempt: attempt, Offer: offer, At: time.Now().UTC(),
		Label: fmt.Sprintf("peer:%s:%d", instance.UID, attempt),
	}
	if err := r.writeIntent(ctx, instance, &intent); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	r.objects.Store(intent.Label, client.ObjectKeyFromObject(instance))
	id, err := r.market.Rent(ctx, offer, intent.Label, instance.Spec.Image)
	if isRefused(err) {
		return ctrl.Result{RequeueAfter: attemptGap}, r.writeIntent(ctx, instance, nil)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.rented(ctx, instance, &intent, id)
}

func (r *Reconciler) writeIntent(ctx context.Context, instance *GpuInstance, intent *Intent) error {
	patch := client.MergeFromWithOptions(instance.DeepCopy(), client.MergeFromWithOptimisticLock{})
	if intent == nil {
		delete(instance.Annotations, intentKey)
		return r.Patch(ctx, instance, patch)
	}
	text, err := json.Marshal(intent)
	if err != nil {
		return err
	}
	if instance.Annotations == nil {
		instance.Annotations = map[string]string{}
	}
	instance.Annotations[intentKey] = string(text)
	controllerutil.AddFinalizer(instance, finalizer)
	return r.Patch(ctx, instance, patch)
}

func (r *Reconciler) rented(ctx context.Context, instance *GpuInstance, intent *Intent, id int64) error {
	instance.Status = GpuInstanceStatus{
		ObservedGeneration: instance.Generation,
		Phase:              "Provisioning",
		Attempt:            intent.Attempt,
		InstanceID:         strconv.FormatInt(id, 10),
		OfferID:            strconv.FormatInt(intent.Offer, 10),
		RentedAt:           time.Now().UTC().Format(time.RFC3339),
	}
	setReady(instance, metav1.ConditionFalse, "Provisioning", "The machine boots.")
	if err := r.Status().Update(ctx, instance); err != nil {
		return err
	}
	r.recorder.Eventf(instance, nil, corev1.EventTypeNormal, "Rented", "Rent", "Rented machine %d.", id)
	return nil
}

// recover finds out what became of a rental whose reply or record was lost, by its label.
func (r *Reconciler) recover(ctx context.Context, instance *GpuInstance, intent *Intent) (ctrl.Result, error) {
	row, found, begun := r.market.ByLabel(intent.Label)
	if found {
		return ctrl.Result{}, r.rented(ctx, instance, intent, row.ID)
	}
	if begun.Before(intent.At.Add(noOutcome)) {
		return ctrl.Result{RequeueAfter: r.poll}, nil
	}
	return r.rent(ctx, instance, intent.Attempt+1)
}

// observe writes what the list says of the machine, if that is news.
func (r *Reconciler) observe(ctx context.Context, instance *GpuInstance) error {
	id, err := strconv.ParseInt(instance.Status.InstanceID, 10, 64)
	if err != nil {
		return err
	}
	before := instance.DeepCopy()
	row, found, begun := r.market.ByID(id)
	rentedAt, _ := time.Parse(time.RFC3339, instance.Status.RentedAt)
	switch {
	case !found && begun.Before(rentedAt.Add(noOutcome)):
		return nil
	case !found:
		instance.Status.Phase, instance.Status.ActualStatus = "Lost", ""
		setReady(instance, metav1.ConditionFalse, "Vanished", "The marketplace does not list the machine.")
	case row.ActualStatus == "running":
		if err := r.writeSecret(ctx, instance, row); err != nil {
			return err
		}
		running(instance, row)
	case row.ActualStatus == "exited" || row.ActualStatus == "unknown" || row.ActualStatus == "offline":
		instance.Status.Phase, instance.Status.ActualStatus = "Lost", row.ActualStatus
		setReady(instance, metav1.ConditionFalse, "Lost", "The machine is "+row.ActualStatus+".")
	}
	if equality.Semantic.DeepEqual(before.Status, instance.Status) {
		return nil
	}
	return r.Status().Update(ctx, instance)
}

func running(instance *GpuInstance, row Row) {
	status := &instance.Status
	status.ObservedGeneration = instance.Generation
	status.Phase, status.ActualStatus = "Running", row.ActualStatus
	if status.RunningAt == "" {
		status.RunningAt = time.Now().UTC().Format(time.RFC3339)
	}
	status.PublicAddress = row.PublicAddress
	status.SSH = &SSH{Host: row.SSHHost, Port: row.SSHPort}
	status.Endpoint = &Endpoint{Address: net.JoinHostPort(row.SSHHost, strconv.Itoa(row.SSHPort))}
	status.GPU = &GPU{Name: row.GPUName, Count: int(row.GPUCount)}
	setReady(instance, metav1.ConditionTrue, "Running", "The machine runs.")
}

func (r *Reconciler) writeSecret(ctx context.Context, instance *GpuInstance, row Row) error {
	if instance.Status.Phase == "Running" {
		return nil
	}
	secret := corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: instance.Name + "-connection", Namespace: instance.Namespace},
		Type:       "servicebinding.io/gpu-instance",
		Data: map[string][]byte{
			"type": []byte("gpu-instance"), "provider": []byte("peer"),
			"host": []byte(row.SSHHost), "port": []byte(strconv.Itoa(row.SSHPort)),
			"username": []byte("root"), "instance-id": []byte(instance.Status.InstanceID),
		},
	}
	if err := controllerutil.SetControllerReference(instance, &secret, r.Scheme()); err != nil {
		return err
	}
	if err := r.Create(ctx, &secret); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}

// remove destroys the machine, then takes the finalizer away.
func (r *Reconciler) remove(ctx context.Context, instance *GpuInstance, intent *Intent) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(instance, finalizer) {
		return ctrl.Result{}, nil
	}
	if intent != nil {
		id, _ := strconv.ParseInt(instance.Status.InstanceID, 10, 64)
		if row, found, begun := r.market.ByLabel(intent.Label); found {
			id = row.ID
		} else if id == 0 && begun.Before(intent.At.Add(noOutcome)) {
			return ctrl.Result{RequeueAfter: r.poll}, nil
		}
		if id != 0 {
			if err := r.market.Destroy(ctx, id); err != nil {
				return ctrl.Result{}, err
			}
		}
		r.objects.Delete(intent.Label)
	}
	patch := client.MergeFromWithOptions(instance.DeepCopy(), client.MergeFromWithOptimisticLock{})
	controllerutil.RemoveFinalizer(instance, finalizer)
	return ctrl.Result{}, client.IgnoreNotFound(r.Patch(ctx, instance, patch))
}

func setReady(instance *GpuInstance, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&instance.Status.Conditions, metav1.Condition{
		Type: "Ready", Status: status, Reason: reason, Message: message, ObservedGeneration: instance.Generation,
	})
}
