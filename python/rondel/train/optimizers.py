"""Optimizers: the nodes that update the parameters in the model of a step.

Adam, Adagrad and SGD with momentum are ops of ONNX's domain ai.onnx.preview.training, with ONNX's formulas and PyTorch's argument names.
"""

from __future__ import annotations

from typing import Any

from ..errors import CallerError
from . import checks

DOMAIN = "ai.onnx.preview.training"


class Optimizer:
    """Base of the optimizers. lr: the learning rate, which the factors of a Trainer's schedule multiply."""

    states: tuple[str, ...] = ()  # names of the tensors that it keeps for each parameter, with the parameter's shape and dtype

    def __init__(self, lr: float, weight_decay: float) -> None:
        self.lr = checks.number("lr", lr)
        self.weight_decay = checks.number("weight_decay", weight_decay)

    def initial(self, state: str) -> float:
        """The initial value of all elements of a state."""
        return 0.0

    def update(self, graph: Any, rate: str, updates: str, parameters: Any, gradients: Any, states: Any) -> Any:
        """Appends nodes; returns the names of the new parameters, and a list of names for each state.

        graph: a step_model.GraphWriter. rate: the learning rate, f64[]. updates: the number of updates so far, i64[].
        """
        raise NotImplementedError

    def _op(self, graph, op, rate, updates, parameters, gradients, states, **attributes):
        n = len(parameters)
        tensors = [*parameters, *gradients, *(name for kind in states for name in kind)]
        made = graph.add(op, [rate, updates, *tensors], n * (1 + len(states)), domain=DOMAIN, **attributes)
        kinds = [made[k : k + n] for k in range(0, len(made), n)]
        return kinds[0], kinds[1:]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"


class SGD(Optimizer):
    """Gradient descent: x' = x - lr * v with v' = momentum * v + g and g = gradient + weight_decay * x.

    nesterov: x' = x - lr * (g + momentum * v'), which needs a momentum.
    """

    def __init__(self, lr: float = 0.01, momentum: float = 0.0, *, nesterov: bool = False, weight_decay: float = 0.0) -> None:
        super().__init__(lr, weight_decay)
        self.momentum = checks.number("momentum", momentum, below=1.0)
        self.nesterov = checks.flag("nesterov", nesterov)
        if self.nesterov and not self.momentum:
            raise CallerError("train: nesterov is True, but momentum is 0; give a momentum, such as 0.9")

    @property
    def states(self) -> tuple[str, ...]:
        return ("velocity",) if self.momentum else ()

    def update(self, graph: Any, rate: str, updates: str, parameters: Any, gradients: Any, states: Any) -> Any:
        if self.momentum:
            mode = "nesterov" if self.nesterov else "standard"
            attributes = {"alpha": self.momentum, "beta": 1.0, "mode": mode, "norm_coefficient": self.weight_decay}
            return self._op(graph, "Momentum", rate, updates, parameters, gradients, states, **attributes)
        new = []
        for x, g in zip(parameters, gradients):
            if self.weight_decay:
                g = graph.one("Add", [g, graph.one("Mul", [graph.scalar(self.weight_decay, x), x])])
            new.append(graph.one("Sub", [x, graph.one("Mul", [graph.cast(rate, like=x), g])]))
        return new, []


class Adam(Optimizer):
    """Adam (Kingma, Ba, 2015). eps is added to sqrt(v) before the bias correction, as in ONNX and Keras; PyTorch adds it
    after the correction."""

    states = ("mean", "mean_square")

    def __init__(self, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0.0) -> None:
        super().__init__(lr, weight_decay)
        try:
            first, second = betas
        except (TypeError, ValueError):
            raise CallerError(f"train: betas is {betas!r}; expected two numbers, as (0.9, 0.999)") from None
        self.betas = (checks.number("betas", first, below=1.0), checks.number("betas", second, below=1.0))
        self.eps = checks.number("eps", eps)

    def update(self, graph: Any, rate: str, updates: str, parameters: Any, gradients: Any, states: Any) -> Any:
        return self._adam(graph, rate, updates, parameters, gradients, states, self.weight_decay)

    def _adam(self, graph, rate, updates, parameters, gradients, states, norm_coefficient):
        # The op expects the number of this update, from 1; at 0 it skips the bias correction.
        counted = graph.one("Add", [updates, graph.integer(1)])
        attributes = {"alpha": self.betas[0], "beta": self.betas[1], "epsilon": self.eps, "norm_coefficient": norm_coefficient}
        return self._op(graph, "Adam", rate, counted, parameters, gradients, states, **attributes)


class AdamW(Adam):
    """Adam with decoupled weight decay: x' = x * (1 - lr * weight_decay) before each step (Loshchilov, Hutter, 2019)."""

    def __init__(self, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0.01) -> None:
        super().__init__(lr, betas, eps, weight_decay)

    def update(self, graph: Any, rate: str, updates: str, parameters: Any, gradients: Any, states: Any) -> Any:
        if self.weight_decay:
            lost = graph.one("Mul", [rate, graph.constant(self.weight_decay, "float64")])
            kept = graph.one("Sub", [graph.constant(1.0, "float64"), lost])
            parameters = [graph.one("Mul", [x, graph.cast(kept, like=x)]) for x in parameters]
        return self._adam(graph, rate, updates, parameters, gradients, states, 0.0)


class Adagrad(Optimizer):
    """Adagrad (Duchi, Hazan, Singer, 2011). The learning rate of update t, counted from 0, is lr / (1 + t * lr_decay)."""

    states = ("square_sum",)

    def __init__(
        self, lr: float = 0.01, lr_decay: float = 0.0, weight_decay: float = 0.0, initial_accumulator_value: float = 0.0, eps: float = 1e-10
    ) -> None:
        super().__init__(lr, weight_decay)
        self.lr_decay = checks.number("lr_decay", lr_decay)
        self.initial_accumulator_value = checks.number("initial_accumulator_value", initial_accumulator_value)
        self.eps = checks.number("eps", eps)

    def initial(self, state: str) -> float:
        return self.initial_accumulator_value

    def update(self, graph: Any, rate: str, updates: str, parameters: Any, gradients: Any, states: Any) -> Any:
        attributes = {"decay_factor": self.lr_decay, "epsilon": self.eps, "norm_coefficient": self.weight_decay}
        return self._op(graph, "Adagrad", rate, updates, parameters, gradients, states, **attributes)


BY_NAME = {"sgd": SGD, "adam": Adam, "adamw": AdamW, "adagrad": Adagrad}
