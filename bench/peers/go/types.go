package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var groupVersion = schema.GroupVersion{Group: "gpurental.dev", Version: "v1alpha1"}

// GpuInstance holds the fields of the CRD that this operator reads and writes.
type GpuInstance struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              GpuInstanceSpec   `json:"spec"`
	Status            GpuInstanceStatus `json:"status,omitempty"`
}

type GpuInstanceSpec struct {
	Offers []OfferRequest `json:"offers,omitempty"`
	Image  string         `json:"image"`
	Disk   string         `json:"disk,omitempty"`
}

type OfferRequest struct {
	MaxPricePerHour string `json:"maxPricePerHour,omitempty"`
}

type GpuInstanceStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Phase              string             `json:"phase,omitempty"`
	Attempt            int                `json:"attempt,omitempty"`
	InstanceID         string             `json:"instanceId,omitempty"`
	OfferID            string             `json:"offerId,omitempty"`
	ActualStatus       string             `json:"actualStatus,omitempty"`
	RentedAt           string             `json:"rentedAt,omitempty"`
	RunningAt          string             `json:"runningAt,omitempty"`
	Endpoint           *Endpoint          `json:"endpoint,omitempty"`
	PublicAddress      string             `json:"publicAddress,omitempty"`
	SSH                *SSH               `json:"ssh,omitempty"`
	GPU                *GPU               `json:"gpu,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

type Endpoint struct {
	Address string `json:"address"`
}

type SSH struct {
	Host string `json:"host"`
	Port int    `json:"port"`
}

type GPU struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

type GpuInstanceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []GpuInstance `json:"items"`
}

func (in *GpuInstance) DeepCopyObject() runtime.Object {
	out := *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.Offers = append([]OfferRequest(nil), in.Spec.Offers...)
	out.Status.Conditions = append([]metav1.Condition(nil), in.Status.Conditions...)
	if in.Status.SSH != nil {
		ssh := *in.Status.SSH
		out.Status.SSH = &ssh
	}
	if in.Status.GPU != nil {
		gpu := *in.Status.GPU
		out.Status.GPU = &gpu
	}
	return &out
}

func (in *GpuInstance) DeepCopy() *GpuInstance { return in.DeepCopyObject().(*GpuInstance) }

func (in *GpuInstanceList) DeepCopyObject() runtime.Object {
	out := &GpuInstanceList{TypeMeta: in.TypeMeta, ListMeta: *in.ListMeta.DeepCopy()}
	for i := range in.Items {
		out.Items = append(out.Items, *in.Items[i].DeepCopy())
	}
	return out
}

func addToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(groupVersion, &GpuInstance{}, &GpuInstanceList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	return nil
}
