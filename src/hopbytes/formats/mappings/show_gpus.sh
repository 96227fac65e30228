case $maker in
amd) variable=ROCR_VISIBLE_DEVICES own=${ROCR_VISIBLE_DEVICES:-} ;;
intel) variable=ZE_AFFINITY_MASK own=${ZE_AFFINITY_MASK:-} ;;
*) variable=CUDA_VISIBLE_DEVICES own=${CUDA_VISIBLE_DEVICES:-} ;;
esac
shown=
IFS=,
for gpu in $gpus; do
    entry= place=0
    case ,$own, in
    ,,|,NoDevFiles,|*,$gpu,*|*,${gpu%.*},*) entry=$gpu ;;
    *[!0-9,.]*)
        for word in $own; do
            case $place:$word in "${gpu%.*}":[A-Za-z]*-*) entry=$word ;; esac
            place=$((place + 1))
        done
        ;;
    esac
    if [ -z "$entry" ]; then
        echo "place.sh: rank $rank: GPU $gpu is not among $variable=$own of its job" >&2
        exit 1
    fi
    shown=$shown${shown:+,}$entry
done
unset IFS
[ -z "$gpus" ] || case $maker in
amd)
    unset HIP_VISIBLE_DEVICES CUDA_VISIBLE_DEVICES GPU_DEVICE_ORDINAL
    ROCR_VISIBLE_DEVICES=$shown
    export ROCR_VISIBLE_DEVICES
    ;;
intel)
    case $gpus in *.*) ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE; export ZE_FLAT_DEVICE_HIERARCHY ;; esac
    ZE_AFFINITY_MASK=$shown
    export ZE_AFFINITY_MASK
    ;;
*)
    CUDA_VISIBLE_DEVICES=$shown
    export CUDA_VISIBLE_DEVICES
    ;;
esac
