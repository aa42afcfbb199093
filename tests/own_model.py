"""What every Model of a test has; what it says is its own."""


class OwnModel:
    async def open(self): ...

    async def close(self): ...

    async def count(self, prompt):
        return 1
